import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AdaptiveConcurrency, AUTO_BOUNDS } from '../../src/pool/adaptive-concurrency.ts';

/** Runs so many calls, each as slow as the service is at the limit of its moment. Returns the limits seen in the last tenth. */
function run(auto: AdaptiveConcurrency, calls: number, latencyMs: (limit: number, call: number) => number): number[] {
  const last: number[] = [];
  for (let call = 0; call < calls; call++) {
    auto.observe(latencyMs(auto.limit, call), true);
    if (call >= calls * 0.9) last.push(auto.limit);
  }
  return last;
}

/** The middle one: a measurement of the best lowers the limit for a moment. */
function typical(limits: readonly number[]): number {
  return limits.toSorted((a, b) => a - b)[Math.floor(limits.length / 2)] as number;
}

/** A service that does so many at once and lets the rest queue. */
const saturatedAt = (slots: number, ms: number) => (limit: number) => ms * Math.max(1, limit / slots);

describe('AdaptiveConcurrency', () => {
  it('keeps within its bounds, whatever it sees', () => {
    const observations = fc.array(fc.tuple(fc.double({ min: 0, max: 60_000, noNaN: true }), fc.boolean(), fc.integer({ min: 1, max: 200 })), { maxLength: 50 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10 }), fc.integer({ min: 0, max: 200 }), observations, (min, more, seen) => {
        const bounds = { min, max: min + more, start: min + Math.floor(more / 3) };
        const auto = new AdaptiveConcurrency(bounds);
        for (const [latencyMs, ok, times] of seen) {
          for (let i = 0; i < times; i++) {
            const limit = auto.observe(latencyMs, ok);
            expect(limit).toBe(auto.limit);
            expect(Number.isInteger(limit)).toBe(true);
            expect(limit).toBeGreaterThanOrEqual(bounds.min);
            expect(limit).toBeLessThanOrEqual(bounds.max);
          }
        }
      }),
    );
  });

  it('grows to its bound while latency stays the same, however high that is', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20_000 }), fc.infiniteStream(fc.double({ min: 0.7, max: 1.3, noNaN: true })), (ms, jitter) => {
        const limits = run(new AdaptiveConcurrency(), 6_000, () => ms * (jitter.next().value as number));
        expect(typical(limits)).toBe(AUTO_BOUNDS.max);
      }),
      { numRuns: 50 },
    );
  });

  it('stays near what the service can do at once, and does not drift away from it', () => {
    fc.assert(
      fc.property(fc.integer({ min: 8, max: 40 }), fc.integer({ min: 20, max: 500 }), (slots, ms) => {
        const limits = run(new AdaptiveConcurrency(), 60_000, saturatedAt(slots, ms));
        expect(typical(limits)).toBeGreaterThanOrEqual(slots);
        expect(typical(limits)).toBeLessThanOrEqual(3 * slots);
      }),
      { numRuns: 50 },
    );
  });

  it('shrinks when latency multiplies, and recovers when it is back', () => {
    const auto = new AdaptiveConcurrency();
    run(auto, 6_000, saturatedAt(100, 50));
    expect(auto.limit).toBe(128);
    run(auto, 3_000, saturatedAt(5, 50));
    expect(auto.limit).toBeLessThanOrEqual(20);
    expect(typical(run(auto, 10_000, saturatedAt(100, 50)))).toBe(128);
  });

  it('does not hold it against a service that it became slower for good', () => {
    const auto = new AdaptiveConcurrency();
    run(auto, 6_000, () => 50);
    expect(typical(run(auto, 20_000, () => 2_000))).toBe(128);
  });

  it('gives way to failures, down to its bound', () => {
    const auto = new AdaptiveConcurrency();
    for (let call = 0; call < 2_000; call++) auto.observe(10, call % 5 !== 0);
    expect(auto.limit).toBe(AUTO_BOUNDS.min);
    run(auto, 6_000, () => 10);
    expect(auto.limit).toBe(AUTO_BOUNDS.max);
  });

  it('takes a failure now and then for what it is', () => {
    const auto = new AdaptiveConcurrency();
    for (let call = 0; call < 6_000; call++) auto.observe(30, call % 50 !== 0);
    expect(auto.limit).toBeGreaterThanOrEqual(100);
  });
});
