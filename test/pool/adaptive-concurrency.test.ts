import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { AdaptiveConcurrency, AUTO_BOUNDS } from '../../src/pool/adaptive-concurrency.ts';
import { seeded } from '../support/leads.ts';
import { closedLoop, perMinute, type Moment } from './closed-loop.ts';

const unlimited = (): AdaptiveConcurrency => new AdaptiveConcurrency({ rpm: null });
const paced = (rpm: number): AdaptiveConcurrency => new AdaptiveConcurrency({ rpm });

/** Runs `calls` calls with as many in flight as the limit allows. Returns the limits during the last tenth of them. */
function run(auto: AdaptiveConcurrency, calls: number, latencyMs: (limit: number) => number): number[] {
  const last: number[] = [];
  for (let call = 0; call < calls; call++) {
    auto.observe(latencyMs(auto.limit), true, auto.limit);
    if (call >= calls * 0.9) last.push(auto.limit);
  }
  return last;
}

/** The median, because trials of a higher or a lower limit change it for a moment. */
function median(limits: readonly number[]): number {
  return limits.toSorted((a, b) => a - b)[Math.floor(limits.length / 2)] as number;
}

/** The latency of a service that processes `slots` calls at once and queues the rest. */
const saturatedAt = (slots: number, ms: number) => (inFlight: number) => ms * Math.max(1, inFlight / slots);

/** Random factors from 0.7 to 1.3, repeatable by the seed. */
function jitterOf(seed: number): () => number {
  const random = seeded(seed);
  return () => 0.7 + 0.6 * random();
}

describe('AdaptiveConcurrency', () => {
  it('stays within its bounds for any observations', () => {
    const observations = fc.array(
      fc.tuple(
        fc.double({ min: 0, max: 60_000, noNaN: true }),
        fc.boolean(),
        fc.integer({ min: 1, max: 600 }),
        fc.integer({ min: 1, max: 200 }),
        fc.boolean(),
      ),
      { maxLength: 40 },
    );
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10 }),
        fc.integer({ min: 0, max: 200 }),
        fc.constantFrom(null, 60, 5_000, 100_000),
        observations,
        (min, more, rpm, observed) => {
          const bounds = { min, max: min + more, start: min + Math.floor(more / 3) };
          const auto = new AdaptiveConcurrency({ rpm, bounds });
          const check = (limit: number): void => {
            if (limit === auto.limit && Number.isInteger(limit) && limit >= bounds.min && limit <= bounds.max) return;
            throw new Error(`${limit} of ${auto.limit}`);
          };
          for (const [latencyMs, ok, inFlight, times, restarts] of observed) {
            if (restarts) auto.restart();
            for (let i = 0; i < times; i++) check(auto.observe(latencyMs, ok, inFlight));
          }
        },
      ),
    );
  });

  it('starts with 16, and one answer never raises it to more than twice as many, or by more than 64', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5_000 }), fc.constantFrom(null, 5_000, 100_000), (ms, rpm) => {
        const auto = new AdaptiveConcurrency({ rpm });
        expect(auto.limit).toBe(16);
        // The first 16 answers do not raise the limit.
        for (let call = 0; call < 16; call++) expect(auto.observe(ms, true, 16)).toBe(16);
        for (let call = 0; call < 6_000; call++) {
          const before = auto.limit;
          const limit = auto.observe(ms, true, auto.limit);
          if (limit > before * 2 || limit > before + 64) throw new Error(`from ${before} to ${limit}`);
        }
      }),
      { numRuns: 30 },
    );
  });

  it('grows to its upper bound while the latency stays the same, low or high', () => {
    fc.assert(
      fc.property(fc.integer({ min: 60, max: 20_000 }), fc.nat(), (ms, seed) => {
        const jitter = jitterOf(seed);
        expect(median(run(unlimited(), 8_000, () => ms * jitter()))).toBe(AUTO_BOUNDS.max);
      }),
      { numRuns: 30 },
    );
  });

  it('does not exceed the concurrency of 12,000 calls a second', () => {
    expect(run(unlimited(), 20_000, () => 5).every((limit) => limit <= 240)).toBe(true);
  });

  it('does not grow while fewer calls are in flight than it allows', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10 }),
        fc.constantFrom(null, 60, 100_000),
        fc.array(fc.integer({ min: 1, max: 20_000 }), { minLength: 1, maxLength: 50 }),
        (inFlight, rpm, latencies) => {
          const auto = new AdaptiveConcurrency({ rpm });
          for (let call = 0; call < 2_000; call++)
            expect(auto.observe(latencies[call % latencies.length] as number, true, 1 + (call % Math.min(inFlight, 9)))).toBe(16);
        },
      ),
      { numRuns: 50 },
    );
  });

  it('stays near the number of calls that the service can process at once', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 8, max: 150 }),
        fc.integer({ min: 20, max: 500 }),
        fc.constantFrom(null, 10_000_000),
        (slots, ms, rpm) => {
          const limit = median(run(new AdaptiveConcurrency({ rpm }), 60_000, saturatedAt(slots, ms)));
          expect(limit).toBeGreaterThanOrEqual(slots * 0.85);
          expect(limit).toBeLessThanOrEqual(3 * slots);
        },
      ),
      { numRuns: 50 },
    );
  });

  it('shrinks when the service can process fewer calls at once, and recovers with the service', () => {
    const auto = unlimited();
    run(auto, 6_000, saturatedAt(400, 50));
    expect(auto.limit).toBeGreaterThanOrEqual(400);
    expect(median(run(auto, 6_000, saturatedAt(5, 50)))).toBeLessThanOrEqual(15);
    expect(median(run(auto, 20_000, saturatedAt(400, 50)))).toBeGreaterThanOrEqual(400);
  });

  it('shrinks to its lower bound during failures, and recovers after them', () => {
    const auto = unlimited();
    for (let call = 0; call < 2_000; call++) auto.observe(10, call % 5 !== 0, auto.limit);
    expect(auto.limit).toBe(AUTO_BOUNDS.min);
    run(auto, 20_000, () => 60);
    expect(auto.limit).toBe(AUTO_BOUNDS.max);
  });

  it('does not shrink for one failure in fifty, and ignores the latency of failures', () => {
    const auto = unlimited();
    for (let call = 0; call < 10_000; call++) {
      const ok = call % 50 !== 0;
      auto.observe(ok ? 60 : 30_000, ok, auto.limit);
    }
    expect(auto.limit).toBe(AUTO_BOUNDS.max);
  });

  it('starts again with its first limit after an outage', () => {
    const auto = unlimited();
    run(auto, 8_000, () => 50);
    auto.restart();
    expect(auto.limit).toBe(AUTO_BOUNDS.start);
    expect(median(run(auto, 8_000, () => 50))).toBe(AUTO_BOUNDS.max);
  });
});

describe('AdaptiveConcurrency with a quota', () => {
  it.each([
    [5_000, 3_000, 250],
    [5_000, 2_000, 167],
    [1_000, 3_000, 50],
    [30_000, 600, 300],
    [100, 4_000, 7],
  ])('uses the quota of %d calls a minute at %d ms each, which needs %d calls in flight', (rpm, ms, needed) => {
    const moments = closedLoop(paced(rpm), rpm, 180_000, () => ms);
    expect(perMinute(moments, 60_000, 180_000)).toBeGreaterThanOrEqual(rpm * 0.99);
    expect(moments.at(-1)?.limit).toBeGreaterThanOrEqual(needed);
    // The upper bound is much higher, so growth has stopped by itself.
    expect(Math.max(...moments.map(({ limit }) => limit))).toBeLessThanOrEqual(Math.max(16, 3 * needed));
  });

  it('uses the quota at any rate and latency that its upper bound allows', () => {
    const scenario = fc.record({ rpm: fc.integer({ min: 60, max: 20_000 }), ms: fc.integer({ min: 10, max: 6_000 }), seed: fc.nat() });
    fc.assert(
      fc.property(
        scenario.filter(({ rpm, ms }) => (rpm / 60_000) * ms <= 400),
        ({ rpm, ms, seed }) => {
          const jitter = jitterOf(seed);
          const moments = closedLoop(paced(rpm), rpm, 240_000, () => ms * jitter());
          // Calls near the end may be answered after it.
          const unanswered = (0.3 * ms * rpm) / 60_000 + 2;
          expect(perMinute(moments, 120_000, 240_000) + unanswered).toBeGreaterThanOrEqual(rpm * 0.99);
          expect(moments.at(-1)?.limit).toBeLessThanOrEqual(Math.max(32, (4 * rpm * ms) / 60_000));
        },
      ),
      { numRuns: 60 },
    );
  });

  it('uses the quota when latencies spread widely', () => {
    for (let seed = 1; seed <= 50; seed++) {
      const random = seeded(seed);
      const moments = closedLoop(paced(5_000), 5_000, 240_000, () => -Math.log(1 - random()) * 3_000);
      expect(moments.find(({ limit }) => limit >= 250)?.at).toBeLessThanOrEqual(80_000);
      expect(perMinute(moments, 120_000, 240_000)).toBeGreaterThanOrEqual(5_000 * 0.97);
    }
  });

  it('shrinks when the service becomes too slow for the plan’s rate', () => {
    const moments = closedLoop(paced(5_000), 5_000, 600_000, (at, inFlight) => saturatedAt(at < 120_000 ? 200 : 5, 500)(inFlight));
    expect(perMinute(moments, 60_000, 120_000)).toBeGreaterThanOrEqual(5_000 * 0.99);
    expect(median(moments.slice(-2_000).map(({ limit }) => limit))).toBeLessThanOrEqual(15);
  });

  it('queues few calls at a service that is too slow for the plan’s rate', () => {
    // 20 calls at once of 500 ms each are 2,400 a minute; the plan has 5,000.
    const moments = closedLoop(paced(5_000), 5_000, 600_000, (_, inFlight) => saturatedAt(20, 500)(inFlight));
    expect(median(moments.slice(-5_000).map(({ limit }) => limit))).toBeLessThanOrEqual(60);
    expect(perMinute(moments, 300_000, 600_000)).toBeGreaterThanOrEqual(2_400 * 0.9);
  });
});

describe('a service that slows from 50 ms to 2 s and recovers', () => {
  const SLOW_FROM = 60_000;
  const SLOW_TO = 180_000;
  const latencyMs = (at: number): number => (at >= SLOW_FROM && at < SLOW_TO ? 2_000 : 50);

  it('gets the whole quota of 5,000 a minute again within 20 s, and at once after it recovers', () => {
    const moments = closedLoop(paced(5_000), 5_000, SLOW_TO + 20_000, latencyMs);
    expect(perMinute(moments, 5_000, SLOW_FROM)).toBeGreaterThanOrEqual(5_000 * 0.99);
    expect(perMinute(moments, SLOW_FROM + 20_000, SLOW_TO)).toBeGreaterThanOrEqual(5_000 * 0.99);
    expect(perMinute(moments, SLOW_TO, SLOW_TO + 10_000)).toBeGreaterThanOrEqual(5_000 * 0.99);
    const limits = moments.map(({ limit }) => limit);
    expect(Math.min(...limits)).toBe(AUTO_BOUNDS.start);
    expect(Math.max(...limits)).toBeLessThanOrEqual(2 * 167);
    // The number of calls until the limit sufficed.
    const slow = moments.filter(({ at }) => at >= SLOW_FROM);
    const sufficient = slow.find(({ limit }) => limit >= 167) as Moment;
    expect(sufficient.calls - (slow[0] as Moment).calls).toBeLessThanOrEqual(600);
  });

  it('on an unlimited plan causes one trial of a lower limit, and then the limit stays', () => {
    const moments = closedLoop(unlimited(), null, 80_000, (at) => (at >= 10_000 && at < 70_000 ? 2_000 : 50));
    const slow = moments.filter(({ at }) => at >= 10_000 && at < 70_000);
    expect(Math.min(...slow.map(({ limit }) => limit))).toBe(AUTO_BOUNDS.max / 2);
    expect(slow.filter(({ limit }) => limit < AUTO_BOUNDS.max).length).toBeLessThanOrEqual(1_000);
    const after = moments.filter(({ at }) => at >= 72_000);
    expect(after.length).toBeGreaterThan(10_000);
    expect(after.every(({ limit }) => limit === AUTO_BOUNDS.max)).toBe(true);
  });
});
