import * as fc from '../../support/fast-check.ts';
import { expect, it } from 'vitest';
import { HostBackoff } from '../../../src/service/webhooks/backoff.ts';
import { LONGEST_PAUSE_MS } from '../../../src/service/webhooks/retry-schedule.ts';

const destination = fc.record({ keyId: fc.constantFrom('a', 'b'), host: fc.constantFrom('one', 'two') });
const steps = fc.array(fc.record({ destination, forMs: fc.nat(LONGEST_PAUSE_MS), passMs: fc.nat(LONGEST_PAUSE_MS) }), { maxLength: 40 });

it('a destination is paused until the latest time that it asked for, and other destinations are not', () => {
  fc.assert(
    fc.property(steps, (requested) => {
      const backoff = new HostBackoff();
      const until = new Map<string, number>();
      let nowMs = 0;
      for (const {
        destination: { keyId, host },
        forMs,
        passMs,
      } of requested) {
        backoff.pause({ keyId, host }, nowMs, forMs);
        until.set(`${keyId} ${host}`, Math.max(until.get(`${keyId} ${host}`) ?? 0, nowMs + forMs));
        nowMs += passMs;
        for (const otherKey of ['a', 'b'])
          for (const otherHost of ['one', 'two'])
            expect(backoff.isPaused({ keyId: otherKey, host: otherHost }, nowMs)).toBe(
              nowMs < (until.get(`${otherKey} ${otherHost}`) ?? 0),
            );
      }
    }),
  );
});

it('a pause that was set while the clock was ahead does not count', () => {
  const backoff = new HostBackoff();
  backoff.pause({ keyId: 'a', host: 'one' }, 30 * 24 * LONGEST_PAUSE_MS, LONGEST_PAUSE_MS);
  expect(backoff.isPaused({ keyId: 'a', host: 'one' }, 0)).toBe(false);
});

it('the backoff remembers 10,000 destinations and forgets the oldest', () => {
  const backoff = new HostBackoff();
  for (let n = 0; n < 10_001; n++) backoff.pause({ keyId: 'a', host: String(n) }, 0, 1);
  expect(['0', '1', '10000'].map((host) => backoff.isPaused({ keyId: 'a', host }, 0))).toEqual([false, true, true]);
});
