/**
 * The quota model before every kind of limiter, in virtual time. Seeds are fixed so that a run can be repeated;
 * `SIM_SEED=n SIM_RUNS=n` tries others, `EVERY_CASE=1` twice as many.
 */
import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { MINUTE_MS } from '../../../src/limiter/inference/quota-observations.ts';
import { casesOf, sampleOf } from '../../support/sample.ts';
import { SEED } from '../../support/seed.ts';
import { simulate, WINDOWS, type Outcome, type Scenario } from '../simulator.ts';

const SIM_SEED = Number(process.env['SIM_SEED'] ?? 20_360_715);
const RUNS = Number(process.env['SIM_RUNS'] ?? casesOf(60, 120));

const UNITS = ['delta s', 'delta ms', 'epoch s', 'epoch ms', 'http date'] as const;

/** 60 to 5,000, the small ones more often: they are as hard and cost less. */
const rpm = fc.oneof(
  { arbitrary: fc.integer({ min: 60, max: 250 }), weight: 60 },
  { arbitrary: fc.integer({ min: 250, max: 1_000 }), weight: 6 },
  { arbitrary: fc.integer({ min: 1_000, max: 5_000 }), weight: 1 },
);
const latencyMs = fc.oneof(fc.integer({ min: 5, max: 300 }), fc.integer({ min: 300, max: 3_000 }));
const fraction = fc.double({ min: 0, max: 1, noNaN: true });

function scenarios(fixed: { [K in keyof Scenario]?: fc.Arbitrary<Scenario[K]> }): fc.Arbitrary<Scenario> {
  return fc.record<Scenario>({
    seed: fc.integer({ min: 0, max: 2 ** 31 }),
    kind: fc.constantFrom('fixed', 'sliding', 'bucket', 'gcra'),
    burst: fc.constantFrom('whole', 'tenth'),
    rpm,
    unit: fc.constantFrom(...UNITS),
    latencyMs,
    jitterMs: fc.constant(0),
    before: fraction,
    clockMs: fc.integer({ min: -120_000, max: 120_000 }),
    neighbour: fc.constant(0),
    bursts: fc.boolean(),
    faults: fc.constant('none'),
    hung: fc.constant(0),
    retryAfter: fc.constantFrom('permit', 'restored'),
    gateMs: fc.constantFrom(0, 2.7),
    lateMs: fc.constantFrom(0, 1),
    ...fixed,
  });
}

function holds(arbitrary: fc.Arbitrary<Scenario>, check: (outcome: Outcome, scenario: Scenario) => void, runs = RUNS): void {
  fc.assert(
    fc.property(arbitrary, (scenario) => {
      check(simulate(scenario), scenario);
    }),
    // A smaller case is another case, and ten minutes of it say nothing of this one.
    { numRuns: runs, seed: SIM_SEED, endOnFailure: true },
  );
}

/** A bucket of a few permits, which overflows for a moment now and then while answers are under way for seconds. */
const isTiny = ({ kind, burst, rpm: quota }: Scenario): boolean =>
  (kind === 'bucket' || kind === 'gcra') && burst === 'tenth' && quota < 250;

/** The first time that a sliding window gives something back, one call asks whether it does: that takes a latency. */
const isSlow = ({ kind, latencyMs: ms, jitterMs: spread }: Scenario): boolean => kind === 'sliding' && ms + spread > 1_000;

/** Calls under way at the plan's rate. */
const inFlightOf = ({ rpm: quota, latencyMs: ms, jitterMs: spread }: Scenario): number => (quota * (ms + spread)) / MINUTE_MS;

/**
 * A bucket is never quite empty: what comes back while a call is under way stands in it. That is not lost, but the end of the run counts
 * it.
 */
const standing = (scenario: Scenario, { available }: Outcome): number =>
  scenario.kind === 'bucket' || scenario.kind === 'gcra' ? inFlightOf(scenario) / available : 0;

const NEIGHBOURS = fc.constantFrom(0.3, 0.7);
/** The permits that the other client takes before an answer can show it. */
const unseenOf = (scenario: Scenario): number =>
  Math.max(1, Math.round(scenario.neighbour * (scenario.bursts ? scenario.rpm * 0.2 : inFlightOf(scenario))));

const causesNone = (outcome: Outcome): void => expect(outcome.ours, outcome.firstOurs).toBe(0);
const jitterMs = fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 300, max: 3_000 }));

/**
 * The least share of what a limiter had to give, at 1,000 a minute and any of the latencies: without a neighbour, and beside one who takes
 * 30 %, 70 %, and 70 % in bursts.
 */
const REACHED = [
  ['fixed', 'whole', [0.99, 0.99, 0.99, 0.99]],
  ['sliding', 'whole', [0.97, 0.65, 0.65, 0.66]],
  ['counter', 'whole', [0.77, 0.91, 0.86, 0.4]],
  ['bucket', 'whole', [0.99, 0.98, 0.99, 0.96]],
  ['bucket', 'tenth', [0.99, 0.99, 0.99, 0.33]],
  ['gcra', 'none', [0.03, 0.01, 0.009, 0.03]],
] as const;

// So long for machines that do much else: each takes seconds.
describe(`the quota model, seed ${SIM_SEED} (SEED=${SEED})`, { timeout: 300_000 }, () => {
  it('uses 99 % and causes no 429, whatever the limiter, the unit, the latency and the clock', () => {
    holds(scenarios({}), (outcome, scenario) => {
      causesNone(outcome);
      expect(outcome.share).toBeGreaterThanOrEqual(
        (isTiny(scenario) ? 0.85 : isSlow(scenario) ? 0.985 : 0.99) - standing(scenario, outcome),
      );
    });
  });

  it('also when the latency is spread widely; a sliding window then costs as much time as the spread is wide', () => {
    holds(
      scenarios({ jitterMs }),
      (outcome, scenario) => {
        causesNone(outcome);
        const lost = scenario.kind === 'sliding' ? (1.3 * scenario.jitterMs) / MINUTE_MS + 0.005 : 0;
        expect(outcome.share).toBeGreaterThanOrEqual(
          (isTiny(scenario) ? 0.85 : isSlow(scenario) ? 0.985 : 0.99) - lost - standing(scenario, outcome),
        );
      },
      RUNS / 2,
    );
  });

  it('also when calls hang: for half a minute it is not known whether the service has counted them', () => {
    holds(
      scenarios({ hung: fc.constantFrom(0.001, 0.01), jitterMs: fc.oneof(fc.constant(0), jitterMs) }),
      (outcome, scenario) => {
        causesNone(outcome);
        expect(outcome.share).toBeGreaterThanOrEqual(isTiny(scenario) ? 0.8 : 0.9);
      },
      RUNS / 2,
    );
  });

  it('also where a bucket holds no burst at all, when the latency does not vary', () => {
    holds(
      scenarios({ kind: fc.constantFrom('bucket', 'gcra'), burst: fc.constant('none'), lateMs: fc.constant(0), gateMs: fc.constant(0) }),
      (outcome) => {
        causesNone(outcome);
        expect(outcome.share).toBeGreaterThanOrEqual(0.99);
      },
      RUNS / 2,
    );
  });

  it('causes no 429 where a bucket holds no burst and the latency varies, whatever is left of the share', () => {
    holds(
      scenarios({ kind: fc.constantFrom('bucket', 'gcra'), burst: fc.constant('none'), jitterMs }),
      (outcome) => {
        causesNone(outcome);
        expect(outcome.admitted).toBeGreaterThan(0);
      },
      RUNS / 2,
    );
  });

  it('takes what a neighbour leaves, and causes no 429 by what it could have known', () => {
    holds(scenarios({ neighbour: NEIGHBOURS, jitterMs: fc.oneof(fc.constant(0), jitterMs) }), (outcome, scenario) => {
      // A neighbour that comes for the first time in the middle of a burst of ours cannot be told from calls of our own.
      if (scenario.kind === 'sliding' || scenario.kind === 'fixed')
        expect(outcome.ours, outcome.firstOurs).toBeLessThanOrEqual(unseenOf(scenario));
      else causesNone(outcome);
      // Elsewhere it costs a latency, and whole seconds that resets are stated in; and a bucket may hold some at the end that are soon
      // asked for: see `REACHED`.
      const whole = scenario.kind === 'fixed' || (scenario.burst === 'whole' && scenario.kind !== 'sliding');
      const kept = scenario.kind === 'fixed' ? 0 : scenario.rpm / (scenario.bursts ? 4 : 8) / outcome.available;
      expect(outcome.share).toBeGreaterThanOrEqual(whole ? 0.99 - kept : scenario.kind === 'sliding' ? 0.5 : 0.2);
      // No storm: a few flocks a minute at most, more only where every burst of the neighbour's meets one.
      expect(outcome.theirs).toBeLessThanOrEqual((scenario.bursts ? 10 : 5) * WINDOWS * (inFlightOf(scenario) + 1));
    });
  });

  it('hears few 429s of a neighbour beside whom a bucket is shared evenly', () => {
    holds(
      scenarios({
        kind: fc.constantFrom('bucket', 'gcra'),
        rpm: fc.integer({ min: 100, max: 600 }),
        neighbour: NEIGHBOURS,
        bursts: fc.constant(false),
        retryAfter: fc.constant('permit'),
      }),
      (outcome, scenario) => {
        // One flock when the neighbour is first met, and now and then the last permit; more often, but a few a minute, where a bucket holds
        // but a few.
        const [share, aMinute] = scenario.burst === 'whole' ? [0.01, 2] : [0.06, 10];
        expect(outcome.theirs).toBeLessThanOrEqual(share * outcome.admitted + 3 * inFlightOf(scenario) + aMinute * WINDOWS);
        expect(outcome.paused).toBeLessThanOrEqual(scenario.burst === 'whole' ? 0.05 : 0.25);
      },
      RUNS / 2,
    );
  });

  it('meets one flock of 429s at most when a sliding window is estimated from two counters, whose refill nobody can foresee', () => {
    holds(
      scenarios({ kind: fc.constant('counter'), jitterMs: fc.oneof(fc.constant(0), jitterMs) }),
      (outcome, scenario) => {
        expect(outcome.ours, outcome.firstOurs).toBeLessThanOrEqual(scenario.rpm);
        expect(outcome.share).toBeGreaterThanOrEqual(0.3);
      },
      RUNS / 2,
    );
  });

  it('goes by the plan alone where headers are missing or absurd', () => {
    holds(
      scenarios({ faults: fc.constantFrom('missing', 'absurd') }),
      (outcome, scenario) => {
        causesNone(outcome);
        expect(outcome.share).toBeGreaterThanOrEqual(0.98);
        expect(outcome.worstMinute).toBeLessThanOrEqual(scenario.rpm);
      },
      RUNS / 2,
    );
  });

  it('believes no headers that let through more than any limiter of the plan could', () => {
    holds(
      scenarios({ faults: fc.constant('stuck'), rpm: fc.integer({ min: 60, max: 250 }) }),
      (outcome, scenario) => {
        expect(outcome.worstMinute).toBeLessThanOrEqual(2 * scenario.rpm);
      },
      20,
    );
  });

  it('uses 85 % when headers stop: a window may pass until the earlier burst is forgotten', () => {
    holds(
      scenarios({ faults: fc.constant('stop') }),
      (outcome) => {
        causesNone(outcome);
        expect(outcome.share).toBeGreaterThanOrEqual(0.85);
      },
      RUNS / 2,
    );
  });

  it('reaches a known share where 99 % cannot be had, and causes no 429', () => {
    const latencies = [
      [5, 0],
      [300, 0],
      [3_000, 0],
      [100, 300],
      [500, 2_500],
    ] as const;
    const neighbours = [
      [0, false],
      [0.3, false],
      [0.7, false],
      [0.7, true],
    ] as const;
    const cases = REACHED.flatMap(([kind, burst, least]) =>
      neighbours.map(([neighbour, bursts], i) => ({ kind, burst, neighbour, bursts, least: least[i] ?? 1 })),
    );
    for (const { least, ...limiter } of sampleOf(cases, 8)) {
      const outcomes = latencies.map(([latency, spread]) =>
        simulate({
          ...limiter,
          seed: SIM_SEED,
          rpm: 1_000,
          unit: 'delta s',
          latencyMs: latency,
          jitterMs: spread,
          before: 0.5,
          clockMs: 90_000,
          faults: 'none',
          hung: 0,
          retryAfter: 'permit',
          gateMs: 0,
          lateMs: 0,
        }),
      );
      const what = JSON.stringify(limiter);
      expect(Math.min(...outcomes.map(({ share }) => share)), what).toBeGreaterThanOrEqual(least);
      for (const { ours, firstOurs } of outcomes) expect(ours, `${what} ${firstOurs}`).toBe(0);
    }
  });
});
