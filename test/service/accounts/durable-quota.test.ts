import * as fc from '../../support/fast-check.ts';
import { expect, it, onTestFinished, vi } from 'vitest';
import { DurableQuota } from '../../../src/service/accounts/durable-quota.ts';
import { KeyWrites } from '../../../src/service/accounts/key-writes.ts';
import { createKey, PLANS } from '../../../src/service/accounts/keys.ts';
import { Journal } from '../../../src/service/store/journal.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { makeKey, makeStore, serveStore } from '../harness.ts';

const MINUTE_MS = 60_000;
/** The requests that a key loses in one crash at most: two seconds of its rate. */
const reserveOf = (rpm: number): number => rpm / 30;

type Step =
  | { readonly kind: 'ask'; readonly afterMs: number; readonly count: number }
  | { readonly kind: 'write' | 'crash' | 'stop'; readonly afterMs: number };

/** Mostly no time passes, because a difference shows only once the bucket is empty. */
const afterMs = fc.oneof(
  { weight: 9, arbitrary: fc.constant(0) },
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 3_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 90_000 }) },
);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('ask' as const),
      afterMs,
      count: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 40 }), fc.constant(2_000)),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('write' as const, 'crash' as const, 'stop' as const), afterMs }) },
);

it('a key gets at most one minute at once plus its refill over any restarts, and loses at most two seconds in a crash', async () => {
  const store = openStore(await makeStore());
  // A crashed process writes nothing more.
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  fc.assert(
    fc.property(
      fc.constantFrom('trial' as const, 'growth' as const),
      fc.array(step, { minLength: 1, maxLength: 60 }),
      fc.array(fc.integer({ min: -1e9, max: 1e9 }), { minLength: 1, maxLength: 5 }),
      (plan, steps, clocks) => {
        const { rpm } = PLANS[plan];
        const { id } = createKey(store, { plan });
        let now = 1e12;
        let processes = 0;
        /** Each process has a monotonic clock of its own. */
        const start = () => {
          const offset = clocks[processes++ % clocks.length] ?? 0;
          const clock = (): number => now + offset;
          const journal = new Journal(store, (error) => {
            throw error;
          });
          const writes = new KeyWrites(store, journal);
          return { clock, journal, writes, quota: new DurableQuota(store, writes, clock, () => now) };
        };
        let running = start();
        let crashes = 0;
        /** Requests taken for answers that are not sent yet. */
        let unsent = 0;
        let ideal: number = rpm;
        const send = (): void => {
          unsent = 0;
        };
        const ask = (): boolean => {
          const { quota, writes, clock } = running;
          if (!quota.take(id, rpm, clock()).allowed) return false;
          ideal -= 1;
          unsent++;
          // An answer that owes nothing is sent at once.
          if (!writes.has(id)) send();
          return true;
        };
        for (const one of steps) {
          now += one.afterMs;
          ideal = Math.min(rpm, ideal + (one.afterMs * rpm) / MINUTE_MS);
          if (one.kind === 'ask') {
            let n = 0;
            while (n < one.count && ask()) n++;
            // No available request is refused, except those that crashes have left in doubt.
            if (n < one.count) expect(ideal - crashes * (reserveOf(rpm) + 1)).toBeLessThan(1.001);
          } else if (one.kind === 'crash') {
            crashes++;
            // An answer that was not sent has cost nothing.
            ideal = Math.min(ideal + unsent, rpm);
            unsent = 0;
            running = start();
          } else {
            if (one.kind === 'stop') running.quota.releaseReserves();
            running.journal.flush();
            send();
            if (one.kind === 'stop') running = start();
          }
          // The level of a bucket that gave the same and never crashed.
          expect(ideal).toBeGreaterThanOrEqual(-1e-3);
        }
        running.journal.close();
      },
    ),
    { numRuns: 200 },
  );
  store.close();
});

it('concurrent requests get exactly the quota that is left', async () => {
  const store = await makeStore();
  const key = await makeKey(store, 'trial');
  const service = await serveStore({ store });
  const begun = performance.now();
  const replies = await Promise.all(Array.from({ length: 100 }, () => service.post('/v1/enrich', { id: 'pe_1' }, { key })));
  const flowedIn = Math.floor((performance.now() - begun) / 1_000) + 1;
  const granted = replies.filter(({ status }) => status === 200).length;
  expect(granted).toBeGreaterThanOrEqual(60);
  expect(granted).toBeLessThanOrEqual(60 + flowedIn);
  expect(replies.filter(({ status }) => status === 429)).toHaveLength(100 - granted);
  // No two answers report the same remainder, unless a request flowed in between.
  const left = replies.filter(({ status }) => status === 200).map(({ headers }) => Number(headers.get('x-ratelimit-remaining')));
  expect(Math.max(...left)).toBe(59);
  expect(new Set(left).size).toBeGreaterThanOrEqual(left.length - flowedIn);
  // After an orderly restart the quota continues from its level.
  await service.close();
  const again = await (await serveStore({ store })).post('/v1/enrich', { id: 'pe_1' }, { key });
  expect(Number(again.headers.get('x-ratelimit-remaining'))).toBeLessThanOrEqual(Math.ceil((performance.now() - begun) / 1_000));
});
