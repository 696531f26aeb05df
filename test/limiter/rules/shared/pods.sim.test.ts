/**
 * Pods that share a quota, before every kind of limiter, in virtual time. Seeds are fixed so that a run can be repeated;
 * `SIM_SEED=n SIM_RUNS=n SIM_RPM=n` tries others, more of them, and faster ones.
 */
import * as fc from '../../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { ALONE_AFTER_MS } from '../../../../src/limiter/rules/shared/pod.ts';
import { MINUTE } from '../../services.ts';
import { simulatePods, type Fault, type PodOutcome, type PodScenario } from './pods-simulator.ts';

const SEED = Number(process.env['SIM_SEED'] ?? 20_360_715);
const RUNS = Number(process.env['SIM_RUNS'] ?? 2);
const WINDOWS = 5;

function scenarios(fixed: { [K in keyof PodScenario]?: fc.Arbitrary<PodScenario[K]> }): fc.Arbitrary<PodScenario> {
  return fc.record<PodScenario>({
    seed: fc.integer({ min: 0, max: 2 ** 31 }),
    kind: fc.constantFrom('fixed', 'sliding', 'bucket', 'gcra'),
    burst: fc.constantFrom('whole', 'tenth'),
    rpm: fc.integer({ min: 250, max: Number(process.env['SIM_RPM'] ?? 500) }),
    unit: fc.constantFrom('delta s', 'delta ms', 'epoch s', 'epoch ms', 'http date'),
    latencyMs: fc.integer({ min: 5, max: 300 }),
    jitterMs: fc.integer({ min: 0, max: 200 }),
    before: fc.double({ min: 0, max: 1, noNaN: true }),
    clockMs: fc.integer({ min: -120_000, max: 120_000 }),
    retryAfter: fc.constantFrom('permit', 'restored'),
    lateMs: fc.constantFrom(0, 2),
    storeMs: fc.constantFrom(0.5, 3, 20),
    pods: fc.integer({ min: 2, max: 6 }),
    podsAtLeast: fc.constant(1),
    neighbour: fc.constant(0),
    happens: fc.constant([]),
    windows: fc.constant(WINDOWS),
    window: fc.constant(null),
    ...fixed,
  });
}

async function holds(
  arbitrary: fc.Arbitrary<PodScenario>,
  check: (outcome: PodOutcome, scenario: PodScenario) => void,
  runs = RUNS,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(arbitrary, async (scenario) => check(await simulatePods(scenario), scenario)),
    { numRuns: runs, seed: SEED, endOnFailure: true },
  );
}

/** Number of refusals, counted in groups: a refusal right after another one left before the first was known. */
function flocks({ refused }: PodOutcome): number {
  return refused.filter(({ atMs }, i) => i === 0 || atMs - (refused[i - 1] as { atMs: number }).atMs > 1_000).length;
}

/** The latency that the store adds, and its variation. */
const STORE_SPREAD_MS = 250;
const whyOf = ({ refused, said }: PodOutcome): string => `${refused[0]?.why}\n${said.join('\n')}`;
/** As of the model for one: a spread of latencies costs a sliding window time, and what is under way stands in a bucket. */
const lostTo = ({ kind, rpm, latencyMs, jitterMs }: PodScenario): number => {
  if (kind === 'fixed') return 0;
  return kind === 'sliding'
    ? (1.3 * (jitterMs + STORE_SPREAD_MS)) / MINUTE
    : (latencyMs + jitterMs + STORE_SPREAD_MS) / (WINDOWS * MINUTE) + 4 / rpm;
};
/** A bucket of a few permits overflows for a moment now and then while a permit is on its way to a pod. */
const isTiny = ({ kind, burst, rpm }: PodScenario): boolean => (kind === 'bucket' || kind === 'gcra') && burst === 'tenth' && rpm < 600;

/** Lower bound for the used share of the quota, over four minutes with a network split. */
const LEAST_SHARE = 0.7;
/** With half a minute more of it, and as long until all that were sent apart are forgotten. */
const LEAST_SHARE_JOINED = 0.6;
/** Two faults at once: what each of them costs by itself, and one more where they meet. */
const MOST_OF_BOTH = 3;
/** Until it is seen that nobody uses the part of a missing pod, where that can be seen. */
const UNUSED_AFTER_MS = 4 * MINUTE;
const within = fc.integer({ min: 70_000, max: 200_000 });
/** The share of a faulty pod, and the cost of its restart. */
const pausedShare = ({ happens, pods }: PodScenario): number =>
  happens.reduce((sum, fault) => sum + 15_000 + (fault.kind === 'pause' ? fault.forMs / pods : 0), 0) / ((WINDOWS - 1) * MINUTE);
const aPod = fc.nat({ max: 1 });

describe(`pods that share a quota, seed ${SEED}`, { timeout: 300_000 }, () => {
  it('use 99 % of it together and cause no 429', async () => {
    await holds(scenarios({}), (outcome, scenario) => {
      expect(outcome.refused.length, whyOf(outcome)).toBe(0);
      expect(outcome.share, JSON.stringify(scenario)).toBeGreaterThanOrEqual((isTiny(scenario) ? 0.9 : 0.99) - lostTo(scenario));
      // Nobody goes short while another has its fill.
      expect(Math.min(...outcome.byPod)).toBeGreaterThan((0.5 * outcome.admitted) / scenario.pods);
    });
  });

  it('pods that die and return cause no 429, also when they were the coordinator: their permits come back', async () => {
    const kill = fc.record({
      kind: fc.constant('kill' as const),
      atMs: within,
      pod: aPod,
      againAfterMs: fc.option(fc.constantFrom(500, 3_000, 20_000)),
    });
    await holds(
      scenarios({
        pods: fc.integer({ min: 3, max: 6 }),
        happens: fc
          .array(kill, { minLength: 1, maxLength: 2 })
          .map((kills): Fault[] => kills.filter(({ pod }, i) => i === 0 || pod !== kills[0]?.pod)),
      }),
      (outcome, scenario) => {
        expect(outcome.refused.length, whyOf(outcome)).toBe(0);
        // A coordinator is missed for three seconds, and a new count begins twice. The share of a pod that may only be disconnected stays
        // reserved.
        const left = scenario.happens.reduce(
          (sum, fault) =>
            sum +
            15_000 +
            (fault.kind === 'kill' && fault.againAfterMs !== 500 ? (fault.againAfterMs ?? UNUSED_AFTER_MS) / (scenario.pods - 1) : 0),
          0,
        );
        expect(outcome.share, JSON.stringify(scenario)).toBeGreaterThanOrEqual(
          (isTiny(scenario) ? 0.9 : 0.98) - lostTo(scenario) - left / ((WINDOWS - 1) * MINUTE),
        );
      },
    );
  });

  it('cause none when one stands still for a minute and goes on: what it was granted then is no longer its', async () => {
    const pause = fc.record({
      kind: fc.constant('pause' as const),
      atMs: within,
      pod: aPod,
      forMs: fc.constantFrom(1_500, 10_000, 60_000),
    });
    await holds(scenarios({ happens: pause.map((one): Fault[] => [one]) }), (outcome, scenario) => {
      expect(outcome.refused.length, whyOf(outcome)).toBe(0);
      expect(outcome.share, JSON.stringify(scenario)).toBeGreaterThanOrEqual(
        (isTiny(scenario) ? 0.9 : 0.98) - lostTo(scenario) - pausedShare(scenario),
      );
    });
  });

  it('go by a static share while the store is gone, say so, and share again: one 429 at most', async () => {
    const away = fc.record({
      kind: fc.constant('away' as const),
      atMs: within,
      pods: fc.constant('all' as const),
      forMs: fc.constantFrom(800, 5_000, 45_000, 100_000),
      forgets: fc.boolean(),
    });
    await holds(scenarios({ happens: away.map((one): Fault[] => [one]) }), (outcome, scenario) => {
      expect(flocks(outcome), whyOf(outcome)).toBeLessThanOrEqual(1);
      expect(outcome.share, JSON.stringify(scenario)).toBeGreaterThanOrEqual(LEAST_SHARE);
      const [fault] = scenario.happens;
      const alone = outcome.said.filter((line) => line.includes('alone'));
      if (fault?.kind === 'away' && fault.forMs > ALONE_AFTER_MS + 3_000) {
        expect(alone.length).toBe(scenario.pods);
        expect(
          alone.every((line) => line.endsWith(`alone ${Math.floor(scenario.rpm / scenario.pods)}`)),
          alone.join('\n'),
        ).toBe(true);
      }
      if (fault?.kind === 'away' && fault.atMs + fault.forMs < WINDOWS * MINUTE - 3_000)
        expect(outcome.said.filter((line) => line.endsWith('shared')).length).toBe(scenario.pods + alone.length);
    });
  });

  it('meet one 429 at most when the network splits between them, whichever pod coordinates, and no pod starves', async () => {
    const away = fc.record({
      kind: fc.constant('away' as const),
      atMs: within,
      pods: fc.constantFrom([0], [1], [0, 1]),
      forMs: fc.constantFrom(800, 5_000, 20_000, 45_000, 100_000),
      forgets: fc.constant(false),
    });
    await holds(
      scenarios({ pods: fc.integer({ min: 3, max: 6 }), happens: away.map((one): Fault[] => [one]) }),
      (outcome, scenario) => {
        expect(flocks(outcome), whyOf(outcome)).toBeLessThanOrEqual(1);
        expect(outcome.share, JSON.stringify(scenario)).toBeGreaterThanOrEqual(LEAST_SHARE);
        expect(Math.min(...outcome.byPod)).toBeGreaterThan((0.4 * outcome.admitted) / scenario.pods);
      },
      2 * RUNS,
    );
  });

  it('meet one 429 at most also when a new pod starts while all others are cut off: those keep the plan as assigned', async () => {
    const joined = fc.record({ before: fc.integer({ min: 1, max: 2 }), atMs: within, afterMs: fc.constantFrom(1_000, 20_000) });
    for (const kind of ['sliding', 'bucket'] as const) {
      await fc.assert(
        fc.asyncProperty(joined, scenarios({ kind: fc.constant(kind) }), async ({ before, atMs, afterMs }, scenario) => {
          const cutOff = Array.from({ length: before }, (_, pod) => pod);
          const outcome = await simulatePods({
            ...scenario,
            pods: before + 1,
            happens: [
              { kind: 'away', atMs, pods: cutOff, forMs: 90_000, forgets: false },
              { kind: 'join', atMs: atMs + afterMs, pod: before },
            ],
          });
          expect(flocks(outcome), whyOf(outcome)).toBeLessThanOrEqual(1);
          expect(outcome.byPod[before]).toBeGreaterThan(0);
          expect(outcome.share).toBeGreaterThanOrEqual(LEAST_SHARE_JOINED);
        }),
        { numRuns: RUNS, seed: SEED, endOnFailure: true },
      );
    }
  });

  it('have the plan that one was left who had all of it and died: it is seen within three minutes that nobody uses it', async () => {
    const alone = scenarios({
      kind: fc.constantFrom('fixed', 'sliding'),
      rpm: fc.integer({ min: 110, max: 200 }),
      pods: fc.constant(2),
      windows: fc.constant(8),
      happens: fc.constant<Fault[]>([
        { kind: 'kill', atMs: 100_000, pod: 0, againAfterMs: null },
        { kind: 'join', atMs: 110_000, pod: 1 },
      ]),
    });
    await holds(alone, (outcome, { rpm }) => {
      expect(flocks(outcome), whyOf(outcome)).toBe(0);
      expect(outcome.byPod[1], JSON.stringify(outcome.minutes)).toBeGreaterThan(2 * rpm);
    });
  });

  /** Kinds of limiter from which it can be seen that a part is left over. */
  const seen = {
    kind: fc.constantFrom('fixed', 'sliding', 'bucket'),
    burst: fc.constant('whole'),
    pods: fc.constant(3),
    windows: fc.constant(8),
  } as const;
  const goneAt = 100_000;

  it('have the part of each that dies two and a half minutes later, however soon another one dies after it', async () => {
    const deaths = fc
      .constantFrom(60_000, 120_000)
      .map((gapMs): Fault[] => [goneAt, goneAt + gapMs].map((atMs, pod) => ({ kind: 'kill', atMs, pod, againAfterMs: null })));
    await holds(scenarios({ ...seen, happens: deaths }), (outcome, scenario) => {
      expect(flocks(outcome), whyOf(outcome)).toBe(0);
      const admitted = (from: number): number => (outcome.minutes[from] ?? 0) / scenario.rpm;
      // Two of three parts in the minute that begins 200 s after the first death, all three in the one 320 s after it.
      expect(admitted(5), JSON.stringify([scenario, outcome.minutes])).toBeGreaterThan(0.6);
      expect(admitted(7), JSON.stringify([scenario, outcome.minutes])).toBeGreaterThan(0.95);
    });
  });

  it('meet seldom when one is cut off and another one dies: neither is taken for gone because the other one is', async () => {
    const both = fc.record({ gapMs: fc.constantFrom(2_000, 3_500), first: aPod }).map(({ gapMs, first }): Fault[] => [
      { kind: 'away', atMs: goneAt + (first === 0 ? 0 : gapMs), pods: [0], forMs: 300_000, forgets: false },
      { kind: 'kill', atMs: goneAt + (first === 0 ? gapMs : 0), pod: 1, againAfterMs: null },
    ]);
    await holds(
      scenarios({
        ...seen,
        kind: fc.constant('sliding'),
        latencyMs: fc.integer({ min: 5, max: 60 }),
        jitterMs: fc.integer({ min: 0, max: 40 }),
        happens: both,
      }),
      (outcome) => {
        expect(flocks(outcome), whyOf(outcome)).toBeLessThanOrEqual(MOST_OF_BOTH);
      },
    );
  });

  it('pods without a store, beside another client of the key, keep the bounds when almost no quota is left', async () => {
    const never = [{ kind: 'away', atMs: 0, pods: 'all', forMs: WINDOWS * MINUTE, forgets: false }] as const;
    for (const kind of ['fixed', 'bucket'] as const) {
      await holds(
        scenarios({
          kind: fc.constant(kind),
          happens: fc.constant(never),
          pods: fc.constant(4),
          podsAtLeast: fc.constant(4),
          neighbour: fc.constant(0.3),
        }),
        (outcome, scenario) => {
          expect(flocks(outcome), whyOf(outcome)).toBeLessThanOrEqual(3);
          expect(outcome.share, JSON.stringify(scenario)).toBeGreaterThanOrEqual(0.95);
        },
      );
    }
  });

  it('without a store keep to their parts of the plan', async () => {
    const never = [{ kind: 'away', atMs: 0, pods: 'all', forMs: WINDOWS * MINUTE, forgets: false }] as const;
    await holds(scenarios({ happens: fc.constant(never), pods: fc.constant(4), podsAtLeast: fc.constant(4) }), (outcome, scenario) => {
      expect(outcome.refused.length, whyOf(outcome)).toBe(0);
      expect(outcome.worstMinute).toBeLessThanOrEqual(scenario.rpm);
      expect(outcome.share, JSON.stringify(scenario)).toBeGreaterThanOrEqual(0.98);
      expect(outcome.said).toHaveLength(4);
    });
  });
});

describe('windows of seconds', () => {
  const window = fc.record({ limit: fc.integer({ min: 3, max: 40 }), periodMs: fc.constantFrom(1_000, 10_000) });
  const rpm = fc.constant(600);
  const latencyMs = fc.integer({ min: 5, max: 100 });
  const jitterMs = fc.integer({ min: 0, max: 50 });
  const fixed = { window, rpm, latencyMs, jitterMs, windows: fc.constant(3) };

  it('pods use a window together and never exceed it, also more pods than it permits calls', async () => {
    await holds(scenarios({ ...fixed, pods: fc.integer({ min: 2, max: 6 }) }), (outcome, scenario) => {
      expect(outcome.refused, whyOf(outcome)).toEqual([]);
      const { periodMs } = scenario.window ?? { periodMs: 1 };
      // A permit comes back when its answer has reached the account.
      const lost = (scenario.latencyMs + scenario.jitterMs + STORE_SPREAD_MS) / (periodMs + scenario.latencyMs + STORE_SPREAD_MS);
      expect(outcome.share).toBeGreaterThan(0.9 * (1 - lost));
    });
  });

  it('pods exceed no window when the store is away, or a pod is killed', async () => {
    const happens = fc.oneof(
      fc.record({ kind: fc.constant('kill' as const), atMs: within, pod: aPod, againAfterMs: fc.constantFrom(null, 500, 20_000) }),
      fc.record({
        kind: fc.constant('away' as const),
        atMs: within,
        pods: fc.constant('all' as const),
        forMs: fc.integer({ min: 1_000, max: 60_000 }),
        forgets: fc.boolean(),
      }),
    );
    await holds(scenarios({ ...fixed, podsAtLeast: fc.constant(2), pods: fc.constant(2), happens: fc.tuple(happens) }), (outcome) => {
      expect(outcome.refused, whyOf(outcome)).toEqual([]);
    });
  });
});
