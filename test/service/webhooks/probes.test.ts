import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { Probes } from '../../../src/service/webhooks/probes.ts';

const lane = (n: number) => ({ keyId: `k${n}`, host: 'h' });

it('of each lane one that was tried most often goes first, as it was noted last', () => {
  fc.assert(fc.property(fc.array(fc.tuple(fc.nat(2), fc.integer({ min: 0, max: 3 }))), (noted) => {
    const probes = new Probes();
    const attempts = new Map<string, number>();
    for (const [at, n] of noted) {
      const id = `msg_${at}_${n}`;
      attempts.set(id, (attempts.get(id) ?? 0) + 1);
      probes.note(lane(at), id, attempts.get(id) as number);
    }
    for (let at = 0; at <= 2; at++) {
      const ofLane = [...attempts].filter(([id]) => id.startsWith(`msg_${at}_`));
      const found = probes.of(lane(at));
      if (ofLane.length === 0) expect(found).toBeNull();
      else expect(attempts.get(found as string)).toBe(Math.max(...ofLane.map(([, n]) => n)));
      probes.forget(lane(at));
      expect(probes.of(lane(at))).toBeNull();
    }
  }));
});

it('begins anew with one that was begun anew', () => {
  const probes = new Probes();
  for (const [id, attempts] of [['a', 5], ['a', 1], ['b', 2]] as const) probes.note(lane(0), id, attempts);
  expect(probes.of(lane(0))).toBe('b');
});

it('are of 10,000 lanes at most', () => {
  const probes = new Probes();
  for (let n = 0; n <= 10_000; n++) probes.note(lane(n), 'a', 1);
  expect([0, 1, 10_000].map((n) => probes.of(lane(n)))).toEqual([null, 'a', 'a']);
});
