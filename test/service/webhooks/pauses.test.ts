import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { Pauses } from '../../../src/service/webhooks/pauses.ts';
import { LONGEST_PAUSE_MS } from '../../../src/service/webhooks/retries.ts';

const lane = fc.record({ keyId: fc.constantFrom('a', 'b'), host: fc.constantFrom('one', 'two') });
const steps = fc.array(fc.record({ lane, forMs: fc.nat(LONGEST_PAUSE_MS), passMs: fc.nat(LONGEST_PAUSE_MS) }), { maxLength: 40 });

it('a lane is left alone until the latest time that was asked for, and no other lane is', () => {
  fc.assert(fc.property(steps, (asked) => {
    const pauses = new Pauses();
    const until = new Map<string, number>();
    let nowMs = 0;
    for (const { lane: { keyId, host }, forMs, passMs } of asked) {
      pauses.pause({ keyId, host }, nowMs, forMs);
      until.set(`${keyId} ${host}`, Math.max(until.get(`${keyId} ${host}`) ?? 0, nowMs + forMs));
      nowMs += passMs;
      for (const key of ['a', 'b']) for (const at of ['one', 'two']) expect(pauses.isPaused({ keyId: key, host: at }, nowMs)).toBe(nowMs < (until.get(`${key} ${at}`) ?? 0));
    }
  }));
});

it('a pause that was noted by a clock that was ahead is none', () => {
  const pauses = new Pauses();
  pauses.pause({ keyId: 'a', host: 'one' }, 30 * 24 * LONGEST_PAUSE_MS, LONGEST_PAUSE_MS);
  expect(pauses.isPaused({ keyId: 'a', host: 'one' }, 0)).toBe(false);
});

it('as many are known as there may be, the latest of them', () => {
  const pauses = new Pauses();
  for (let n = 0; n < 10_001; n++) pauses.pause({ keyId: 'a', host: String(n) }, 0, 1);
  expect(['0', '1', '10000'].map((host) => pauses.isPaused({ keyId: 'a', host }, 0))).toEqual([false, true, true]);
});
