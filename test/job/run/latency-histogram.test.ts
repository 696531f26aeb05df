import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { LatencyHistogram } from '../../../src/job/run/latency-histogram.ts';

const latencies = fc.array(fc.double({ min: 0.1, max: 120_000, noNaN: true }), { minLength: 1, maxLength: 300 });

function filled(ms: readonly number[], from?: Record<string, number>): LatencyHistogram {
  const histogram = new LatencyHistogram(from);
  for (const one of ms) histogram.add(one);
  return histogram;
}

describe('LatencyHistogram', () => {
  it('knows each percentile to within 5 %', () => {
    fc.assert(
      fc.property(latencies, fc.constantFrom(0.5, 0.95, 0.99, 1), (ms, share) => {
        const exact = ms.toSorted((a, b) => a - b)[Math.ceil(ms.length * share) - 1] ?? Number.NaN;
        const found = filled(ms).percentile(share) ?? Number.NaN;
        // It is shown with one decimal.
        expect(Math.abs(found - exact)).toBeLessThanOrEqual(exact * 0.05 + 0.05);
      }),
    );
  });

  it('keeps its percentiles over any resume', () => {
    fc.assert(
      fc.property(latencies, latencies, (before, after) => {
        const saved = JSON.parse(JSON.stringify(filled(before))) as Record<string, number>;
        expect(filled(after, saved).toJSON()).toEqual(filled([...before, ...after]).toJSON());
        expect(filled(after, saved).percentile(0.95)).toBe(filled([...before, ...after]).percentile(0.95));
      }),
    );
  });

  it('counts each answer in the one range that contains it, in few adjacent ranges', () => {
    fc.assert(
      fc.property(latencies, fc.integer({ min: 1, max: 60 }), (ms, most) => {
        const ranges = filled(ms).ranges(most);
        expect(ranges.length).toBeLessThanOrEqual(most);
        for (const [i, { fromMs }] of ranges.entries()) expect(fromMs).toBe(i === 0 ? fromMs : ranges[i - 1]?.toMs);
        // Where two ranges meet, rounding decides.
        const within = (low: number, high: number): number => ms.filter((one) => one >= low && one < high).length;
        for (const { fromMs, toMs, answers } of ranges) {
          expect(answers).toBeGreaterThanOrEqual(within(fromMs * (1 + 1e-9), toMs * (1 - 1e-9)));
          expect(answers).toBeLessThanOrEqual(within(fromMs * (1 - 1e-9), toMs * (1 + 1e-9)));
        }
        expect(ranges.reduce((sum, { answers }) => sum + answers, 0)).toBe(ms.length);
      }),
    );
    expect(new LatencyHistogram().ranges(10)).toEqual([]);
  });

  it('has no percentile before the first answer, and accepts an answer of 0 ms', () => {
    expect(new LatencyHistogram().percentile(0.5)).toBeNull();
    expect(filled([0]).percentile(0.99)).toBe(0.1);
  });

  it('stays small in a checkpoint: from 0.1 ms to an hour in fewer than 400 buckets', () => {
    const histogram = new LatencyHistogram();
    for (let ms = 0.1; ms < 3_600_000; ms *= 1.001) histogram.add(ms);
    expect(Object.keys(histogram.toJSON()).length).toBeLessThan(400);
  });
});
