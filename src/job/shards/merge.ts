/** The checkpoints of all shards as the one of the whole job. Pure. */
import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import type { RunTotals } from '../../checkpoint/run-totals.ts';
import type { ProviderState } from '../../checkpoint/provider-state.ts';
import type { SavedBurst, SavedQuota } from '../../limiter/saved-quota.ts';
import { joinRecent, type SavedSlots } from '../../limiter/recent-slots.ts';
import { MOST_FORMS } from '../../lookup/miss-quarantine.ts';
import { sizesOf } from '../../writer/row-files.ts';
import { EMPTY_TALLY, Tallying } from '../../writer/tally.ts';
import { MAX_SLOTS } from '../../checkpoint/call-series.ts';
import { joinSlots, storeSlots, readSlots } from '../../checkpoint/call-slots.ts';
import { PERIODS_MS } from '../../util/periods.ts';
import type { JobPaths } from '../lifecycle/paths.ts';
import { newCheckpoint } from '../lifecycle/new-checkpoint.ts';
import { addNotableCalls, NO_NOTABLE_CALLS } from '../../checkpoint/notable-calls.ts';
import { joinPromised } from '../../checkpoint/promised-totals.ts';
import { addRunLogs, NO_RUNS } from '../../checkpoint/run-log.ts';
import { addWaits } from '../../checkpoint/wait-log.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import type { ShardPlan } from './shard-plan.ts';

/** The sum of the shards that have begun, in their order. Its state is `stopped`, and it has no result. */
export function joinedCheckpoint(job: CompiledJob, paths: JobPaths, plan: ShardPlan, shards: readonly Checkpoint[]): Checkpoint {
  const tallying = new Tallying(EMPTY_TALLY);
  for (const { mark, result } of shards) tallying.addAll(result?.tally ?? mark.tally);
  const sum = (of: (shard: Checkpoint) => number): number => shards.reduce((total, shard) => total + of(shard), 0);
  const started = newCheckpoint(job, paths, plan.manifest, plan.generation, new Date(plan.startedAt));
  return {
    ...started,
    run: plan.run,
    state: 'stopped',
    updatedAt: shards.map(({ updatedAt }) => updatedAt).reduce((latest, at) => (at > latest ? at : latest), plan.startedAt),
    mark: {
      // The last row of all is the last row of the last shard that has rows.
      position: shards.findLast(({ mark }) => mark.tally.total > 0)?.mark.position ?? null,
      ...sizesOf({
        output: sum(({ mark }) => mark.bytes),
        errors: sum(({ mark }) => mark.errorBytes),
        open: sum(({ mark }) => mark.openBytes ?? 0),
      }),
      tally: tallying.snapshot(),
    },
    ...addKnown(shards, plan.before, plan.of),
    spent: addSpent(shards.flatMap(({ spent }) => spent ?? [])),
    ...addProviders(shards, plan),
  };
}

type Known = Pick<ProviderState, 'trusted' | 'answered' | 'missForms' | 'totals' | 'callsAtMost' | 'creditsAtMost'>;

/** The state of the one service, or of a provider: a checkpoint has both under the same keys. */
function addKnown(shards: readonly Known[], before: Known | undefined, of: number): Known {
  const all = before === undefined ? shards : [before, ...shards];
  const sum = (count: (known: Known) => number): number => all.reduce((total, known) => total + count(known), 0);
  const missForms = [...new Set(all.flatMap(({ missForms: some = [] }) => some))].slice(0, MOST_FORMS);
  return {
    trusted: all.some(({ trusted }) => trusted),
    answered: all.some(({ answered }) => answered),
    ...(missForms.length === 0 ? {} : { missForms }),
    totals: addTotals(
      shards.map(({ totals }) => totals),
      before?.totals,
      of,
    ),
    callsAtMost: sum(({ callsAtMost }) => callsAtMost),
    creditsAtMost: sum(({ creditsAtMost }) => creditsAtMost),
  };
}

/** The states of the providers that the job names. */
function addProviders(shards: readonly Checkpoint[], { before, of }: ShardPlan): Pick<Checkpoint, 'providers'> {
  const all = [...shards, ...(before === undefined ? [] : [before])].flatMap(({ providers }) =>
    providers === undefined ? [] : [providers],
  );
  const names = [...new Set(all.flatMap((providers) => Object.keys(providers)))];
  if (names.length === 0) return {};
  return { providers: Object.fromEntries(names.map((name) => [name, addProvider(shards, before, of, name)])) };
}

function addProvider(shards: readonly Checkpoint[], before: ShardPlan['before'], of: number, name: string): ProviderState {
  const states = shards.flatMap(({ providers }) => providers?.[name] ?? []);
  const channels = Map.groupBy(
    states.flatMap(({ spent }) => Object.entries(spent)),
    ([channel]) => channel,
  );
  const spent = [...channels].flatMap(([channel, some]) => {
    const sum = addSpent(some.map(([, quota]) => quota));
    return sum === null ? [] : [[channel, sum] as const];
  });
  return {
    ...addKnown(states, before?.providers?.[name], of),
    spent: Object.fromEntries(spent),
    skipped: states.find(({ skipped }) => skipped !== null)?.skipped ?? null,
  };
}

function addTotals(shards: readonly RunTotals[], before: RunTotals | undefined, of: number): RunTotals {
  const all = before === undefined ? shards : [before, ...shards];
  const sum = (count: (totals: RunTotals) => number): number => all.reduce((total, totals) => total + count(totals), 0);
  return {
    calls: addCounts(all.map(({ calls }) => calls)),
    lookups: { unique: sum(({ lookups }) => lookups.unique), fromLedger: sum(({ lookups }) => lookups.fromLedger) },
    retries: sum(({ retries }) => retries),
    throttled: {
      events: sum(({ throttled }) => throttled.events),
      waitedMs: sum(({ throttled }) => throttled.waitedMs),
      ...(all.some(({ throttled }) => throttled.causes !== undefined)
        ? { causes: addCounts(all.map(({ throttled }) => throttled.causes ?? {})) }
        : {}),
    },
    waits: addWaits(all.map(({ waits }) => waits)),
    beyondPlan: sum(({ beyondPlan }) => beyondPlan),
    credits: sum(({ credits }) => credits),
    ...(all.some(({ creditsLost }) => creditsLost !== undefined) ? { creditsLost: sum(({ creditsLost = 0 }) => creditsLost) } : {}),
    ...(all.some(({ promised }) => promised !== undefined)
      ? {
          promised: joinPromised(
            all.map(({ promised }) => promised),
            (one, other) => one + other,
          ),
        }
      : {}),
    ...addRequests(all),
    ...(all.some(({ isSample }) => isSample === true) ? { isSample: true as const } : {}),
    latency: addCounts(all.map(({ latency }) => latency)),
    notable: addNotableCalls(all.map(({ notable = NO_NOTABLE_CALLS }) => notable)),
    runs: addRunLogs(all.map(({ runs = NO_RUNS }) => runs)),
    // Each shard uses its share of the plan: N shards at once take 1/N of the sum of their times.
    activeMs: (before?.activeMs ?? 0) + Math.round(shards.reduce((total, { activeMs }) => total + activeMs, 0) / of),
    series: storeSlots(
      joinSlots(
        all.map(({ series }) => readSlots(series)),
        MAX_SLOTS,
      ),
    ),
    ...addCreditsBy(all),
  };
}

/** Left out where no total has them. */
function addCreditsBy(all: readonly RunTotals[]): Pick<RunTotals, 'creditsBy'> {
  const some = all.flatMap(({ creditsBy }) => (creditsBy === undefined ? [] : [creditsBy]));
  return some.length === 0 ? {} : { creditsBy: addCounts(some) };
}

type Sizes = NonNullable<RunTotals['verifyRequests']>;

function addRequests(all: readonly RunTotals[]): Pick<RunTotals, 'verifyRequests' | 'requestSizes'> {
  const verify = all.flatMap(({ verifyRequests }) => (verifyRequests === undefined ? [] : [verifyRequests]));
  const others = Map.groupBy(
    all.flatMap(({ requestSizes = {} }) => Object.entries(requestSizes)),
    ([step]) => step,
  );
  return {
    ...(verify.length === 0 ? {} : { verifyRequests: smallestSize(verify) }),
    ...(others.size === 0
      ? {}
      : { requestSizes: Object.fromEntries([...others].map(([step, known]) => [step, smallestSize(known.map(([, one]) => one))])) }),
  };
}

/** Each shard has a size of its own: the smallest is the one that works for all. */
function smallestSize(known: readonly Sizes[]): Sizes {
  const limits = known.flatMap(({ most }) => (most === null ? [] : [most]));
  return {
    size: Math.min(...known.map(({ size }) => size)),
    most: limits.length === 0 ? null : Math.min(...limits),
    tooLarge: known.reduce((sum, { tooLarge }) => sum + tooLarge, 0),
  };
}

function addCounts(all: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const [name, count] of all.flatMap((counts) => Object.entries(counts))) sums[name] = (sums[name] ?? 0) + count;
  return sums;
}

/** The upper bound: all calls that may have been spent, and the longest wait. */
function addSpent(all: readonly SavedQuota[]): SavedQuota | null {
  if (all.length === 0) return null;
  const [later] = all.flatMap(({ later: one }) => (one === undefined ? [] : [one])).sort((one, other) => other.untilMs - one.untilMs);
  return {
    minute: addSlots(
      all.map(({ minute }) => minute),
      PERIODS_MS.minute,
    ),
    savedAtMs: Math.max(...all.map(({ savedAtMs }) => savedAtMs)),
    ...(later === undefined ? {} : { later }),
    ...addWindows(all),
    ...addBursts(all),
  };
}

function addSlots(all: readonly SavedSlots[], periodMs: number): SavedSlots {
  return joinRecent(
    all.flat().toSorted(([one], [other]) => one - other),
    periodMs,
  );
}

/** All calls in each window, and the least that a shard has heard to be left. */
function addWindows(all: readonly SavedQuota[]): Pick<SavedQuota, 'windows'> {
  const byPeriod = Map.groupBy(
    all.flatMap(({ windows = [] }) => windows),
    ({ periodMs }) => periodMs,
  );
  if (byPeriod.size === 0) return {};
  return {
    windows: [...byPeriod].map(([periodMs, some]) => {
      const limits = some.flatMap(({ limit }) => limit ?? []);
      const [told] = some.toSorted((one, other) => (one.left ?? Infinity) - (other.left ?? Infinity));
      return {
        periodMs,
        limit: limits.length === 0 ? null : Math.max(...limits),
        left: told?.left ?? null,
        resetAtMs: told?.resetAtMs ?? null,
        spent: addSlots(
          some.map(({ spent }) => spent),
          periodMs,
        ),
      };
    }),
  };
}

/** The smallest burst of each rate that a shard has learnt is the one that works for all. */
function addBursts(all: readonly SavedQuota[]): Pick<SavedQuota, 'bursts'> {
  const least = new Map<number, SavedBurst>();
  for (const one of all.flatMap(({ bursts = [] }) => bursts)) {
    const { burst, pace } = least.get(one.periodMs) ?? one;
    least.set(one.periodMs, { ...one, burst: Math.min(burst, one.burst), pace: Math.min(pace, one.pace) });
  }
  return least.size === 0 ? {} : { bursts: [...least.values()] };
}
