import * as fc from '../../support/fast-check.ts';
import { expect, test } from 'vitest';
import { planTimes, formatPlanTimes } from '../../../src/job/commands/plan-times.ts';

const words = (requests: number, rpm: number | null, options: { mayBurst?: boolean; embedded?: boolean } = {}): string =>
  formatPlanTimes(planTimes(requests, rpm, options.mayBurst ?? true), requests, rpm, options.embedded ?? false);

test("the planned time with a full bucket omits a minute's quota, and is never longer than the time without", () => {
  fc.assert(
    fc.property(fc.nat({ max: 10_000_000 }), fc.integer({ min: 1, max: 100_000 }), (requests, rpm) => {
      const { seconds, secondsWithBurst } = planTimes(requests, rpm, true);
      expect(seconds).toBe(Math.ceil((requests / rpm) * 60));
      expect(secondsWithBurst).toBe(requests <= rpm ? 0 : Math.ceil(((requests - rpm) / rpm) * 60));
      expect(secondsWithBurst).toBeLessThanOrEqual(seconds as number);
      // A shard without a shared quota takes its part of the plan evenly.
      expect(planTimes(requests, rpm, false)).toEqual({ seconds, secondsWithBurst: seconds });
    }),
  );
});

test('a token bucket that starts full serves all requests in the time with a burst, and one that starts empty in the other', () => {
  for (const [requests, rpm] of [
    [1, 60],
    [60, 60],
    [61, 60],
    [1_562, 1_000],
    [10_000, 600],
  ] as const) {
    const lastLeavesAt = (tokens: number): number => Math.max(0, ((requests - tokens) / rpm) * 60);
    const { seconds, secondsWithBurst } = planTimes(requests, rpm, true);
    expect([secondsWithBurst, seconds]).toEqual([Math.ceil(lastLeavesAt(rpm)), Math.ceil(lastLeavesAt(0))]);
  }
});

test('the plan prints both times, and when each applies', () => {
  expect(words(1_562, 1_000)).toBe("34 s at 1,000 requests a minute when the key's bucket is full (1,000 at once), else 1 min 34 s");
  expect(words(200, 1_000)).toBe("all requests at once when the key's bucket is full, else 12 s at 1,000 requests a minute");
  expect(words(1_562, 1_000, { embedded: true })).toBe(
    "34 s at 1,000 requests a minute: the bucket of the embedded service's key is full at the start (1,000 at once)",
  );
  expect(words(200, 1_000, { embedded: true })).toBe("all requests at once: the bucket of the embedded service's key is full at the start");
  expect(words(1_562, 250, { mayBurst: false })).toBe('6 min 15 s at 250 requests a minute');
  expect(words(1_562, null)).toBe('no limit: as fast as the service answers');
  expect(words(0, 1_000)).toBe('none: nothing is left to ask for');
});

test('a quota window that the job states counts in the planned time when it takes longer than the plan', () => {
  const windows = [
    { limit: 10, periodMs: 1_000 },
    { limit: 50_000, periodMs: 86_400_000 },
  ];
  expect(planTimes(100_001, 1_000, true, windows)).toEqual({ seconds: 172_800, secondsWithBurst: 172_800 });
  expect(planTimes(50_000, 6_000, true, windows)).toEqual({ seconds: 4_999, secondsWithBurst: 4_999 });
  expect(planTimes(100, null, true, windows)).toEqual({ seconds: 9, secondsWithBurst: 9 });
  expect(formatPlanTimes(planTimes(100_001, 1_000, true, windows), 100_001, 1_000, false, windows)).toBe(
    '48 h 0 min: by service.windows, of which the quota of 50,000 requests a day takes longest',
  );
});
