import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { Latencies } from '../../../src/limiter/inference/latencies.ts';

describe('Latencies', () => {
  it('takes the spread for no less than was seen, and the least for no more', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 1, max: 5_000, noNaN: true }), { minLength: 1, maxLength: 200 }), (seen) => {
        const latencies = new Latencies();
        for (const [i, ms] of seen.entries()) latencies.add(ms, i);
        const [min, max] = [Math.min(...seen), Math.max(...seen)];
        expect(latencies.maxMs).toBe(max);
        expect(latencies.spreadMs).toBeGreaterThanOrEqual(max - min);
        expect(latencies.leastMs).toBeLessThanOrEqual(min);
        expect(latencies.leastMs).toBeGreaterThanOrEqual(0);
      }),
    );
  });

  it('gets sure of a latency that stays the same', () => {
    const latencies = new Latencies();
    for (let i = 0; i < 100; i++) latencies.add(300, i);
    expect(latencies.leastMs).toBeGreaterThan(299);
    expect(latencies.spreadMs).toBeLessThan(1);
  });

  it('counts on nothing while few are known', () => {
    const latencies = new Latencies();
    for (let i = 0; i < 9; i++) latencies.add(300, i);
    expect(latencies.leastMs).toBe(0);
    expect(latencies.spreadMs).toBeGreaterThan(300);
  });

  it('forgets what is more than two minutes old', () => {
    const latencies = new Latencies();
    for (let i = 0; i < 100; i++) latencies.add(3_000, i);
    for (let i = 0; i < 300; i++) latencies.add(50, 60_000 + i * 1_000);
    expect(latencies.maxMs).toBe(50);
    expect(latencies.leastMs).toBeGreaterThan(49);
  });
});
