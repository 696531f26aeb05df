import * as fc from '../../support/fast-check.ts';
import { expect, it } from 'vitest';
import { HalfOpenProbes } from '../../../src/service/webhooks/half-open.ts';

const destination = (n: number) => ({ keyId: `k${n}`, host: 'h' });

it('the probe of each destination is the delivery with the most attempts', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(2), fc.integer({ min: 0, max: 3 }))), (pauses) => {
      const probes = new HalfOpenProbes();
      const attempts = new Map<string, number>();
      for (const [at, n] of pauses) {
        const id = `msg_${at}_${n}`;
        attempts.set(id, (attempts.get(id) ?? 0) + 1);
        probes.note(destination(at), id, attempts.get(id) as number);
      }
      for (let at = 0; at <= 2; at++) {
        const deliveries = [...attempts].filter(([id]) => id.startsWith(`msg_${at}_`));
        const found = probes.of(destination(at));
        if (deliveries.length === 0) expect(found).toBeNull();
        else expect(attempts.get(found as string)).toBe(Math.max(...deliveries.map(([, n]) => n)));
        probes.forget(destination(at));
        expect(probes.of(destination(at))).toBeNull();
      }
    }),
  );
});

it('a redelivery of the probe counts its attempts anew', () => {
  const probes = new HalfOpenProbes();
  for (const [id, attempts] of [
    ['a', 5],
    ['a', 1],
    ['b', 2],
  ] as const)
    probes.note(destination(0), id, attempts);
  expect(probes.of(destination(0))).toBe('b');
});

it('probes are remembered for at most 10,000 destinations', () => {
  const probes = new HalfOpenProbes();
  for (let n = 0; n <= 10_000; n++) probes.note(destination(n), 'a', 1);
  expect([0, 1, 10_000].map((n) => probes.of(destination(n)))).toEqual([null, 'a', 'a']);
});
