/** The unit of `X-RateLimit-Reset` over units, windows and latencies: a wrong one is a 429 a minute for ever, or a day of waiting. */
import * as fc from '../../support/fast-check.ts';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { PERIODS_MS } from '../../../src/util/periods.ts';
import type { PlanWindow } from '../../../src/client/quota/quota-reading.ts';
import { ResetUnit } from '../../../src/limiter/inference/reset-unit.ts';
import { casesOf } from '../../support/sample.ts';
import { makeLimiter, stopTime } from '../virtual.ts';
import { callAlways, WindowedService, type Stated } from '../windowed-service.ts';

const { minute, hour, day } = PERIODS_MS;
const FORMS: Readonly<Record<string, (ms: number, now: number) => string>> = {
  'delta s': (ms) => String(Math.ceil(ms / 1_000)),
  'delta ms': (ms) => String(Math.ceil(ms)),
  'epoch s': (ms, now) => String(Math.ceil((now + ms) / 1_000)),
  'epoch ms': (ms, now) => String(Math.ceil(now + ms)),
  'http date': (ms, now) => new Date(Math.ceil((now + ms) / 1_000) * 1_000).toUTCString(),
};

beforeEach(stopTime);
afterEach(() => vi.useRealTimers());

describe('a quota that is used up, whatever its window and its unit', () => {
  it('a used-up window gets at most one more request without Retry-After, none with it, and is used as soon as it is back', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          form: fc.constantFrom(...Object.keys(FORMS)),
          ms: fc.constantFrom(minute, 10 * minute, hour, day),
          kind: fc.constantFrom('fixed' as const, 'sliding' as const),
          limit: fc.integer({ min: 15, max: 300 }),
          latencyMs: fc.integer({ min: 4, max: 900 }),
          into: fc.double({ min: 0.01, max: 0.9, noNaN: true }),
          saysRetryAfter: fc.boolean(),
        }),
        async ({ form, ms, kind, limit, latencyMs, into, saysRetryAfter }) => {
          await vi.advanceTimersByTimeAsync(ms - (Date.now() % ms) + Math.round(into * ms));
          const service = new WindowedService([{ limit, ms, kind }]);
          const limiter = makeLimiter(ms === minute ? limit : 1_000);
          const reset = (state: readonly Stated[]): number => (state[0] as Stated).resetMs;
          const headersOf = (state: readonly Stated[], now: number): Record<string, string> => ({
            'x-ratelimit-limit': String(limit),
            'x-ratelimit-remaining': String((state[0] as Stated).remaining),
            'x-ratelimit-reset': (FORMS[form] as (typeof FORMS)[string])(reset(state), now),
          });
          const calls = callAlways(limiter, service, headersOf, {
            latencyMs,
            retryAfterMs: (state) => (saysRetryAfter ? Math.ceil(reset(state) / 1_000) * 1_000 : null),
          });
          await vi.advanceTimersByTimeAsync(1.2 * ms + minute);
          await calls.stop();
          expect(calls.refused()).toBeLessThanOrEqual(1);
          expect(service.taken.length).toBeGreaterThanOrEqual(kind === 'fixed' ? 2 * limit * 0.99 - 1 : limit);
        },
      ),
      { numRuns: casesOf(20, 200) },
    );
  }, 120_000);
});

describe('ResetUnit', () => {
  const at = (value: number, remaining: number, limit: number): PlanWindow => ({
    limit,
    remaining,
    reset: { form: 'delta', value, unit: null },
  });
  const windows = fc.constantFrom(5 * minute, hour, day, 30 * day);

  it('a Retry-After on the same answer settles the unit', () => {
    fc.assert(
      fc.property(
        windows,
        fc.double({ min: 0.05, max: 1, noNaN: true }),
        fc.constantFrom('seconds' as const, 'milliseconds' as const),
        (ms, left, unit) => {
          const resetMs = left * ms;
          const value = Math.ceil(unit === 'seconds' ? resetMs / 1_000 : resetMs);
          // From here on it looks like an epoch.
          fc.pre(value < 1e9);
          expect(
            new ResetUnit(1_000).read(at(value, 0, 300), 0, { retryAfterMs: Math.ceil(resetMs / 1_000) * 1_000, throttled: true }),
          ).toBe(unit);
        },
      ),
    );
  });

  it('a second refused answer settles the unit as seconds, however far away the reset is', () => {
    fc.assert(
      fc.property(windows, fc.double({ min: 0.1, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true }), (ms, left, far) => {
        const resetMs = left * ms;
        const passedMs = 2_500 + far * (resetMs * 0.9 - 2_500);
        fc.pre(resetMs > 130_000);
        const unit = new ResetUnit(1_000);
        unit.read(at(Math.ceil(resetMs / 1_000), 7, 300), 0);
        expect(unit.read(at(Math.ceil((resetMs - passedMs) / 1_000), 0, 300), passedMs, { throttled: true })).toBe('seconds');
      }),
    );
  });

  it('the quota settles the unit: 50,000 is not the minute of a plan of 1,000, and a limit equal to the plan is a minute', () => {
    expect(new ResetUnit(1_000).read(at(43_200, 49_999, 50_000), 0)).toBe('seconds');
    expect(new ResetUnit(1_000).read(at(43_200, 999, 1_000), 0)).toBe('milliseconds');
    expect(new ResetUnit(1_000).read(at(43_200, 299, 300), 0)).toBeNull();
  });

  it('does not take the pause of another window for this one', () => {
    const unit = new ResetUnit(1_000);
    expect(unit.read(at(1_500, 3, 300), 0, { retryAfterMs: 2_000, throttled: true })).toBeNull();
    expect(unit.read(at(40_000, 3, 300), 0, { retryAfterMs: 1_000, throttled: true })).toBeNull();
  });
});
