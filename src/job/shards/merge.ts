/** The checkpoints of all shards as the one of the whole job. Pure. */
import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import type { RunTotals } from '../../checkpoint/run-totals.ts';
import type { SavedBurst, SavedQuota } from '../../limiter/saved-quota.ts';
import { joinRecent } from '../../limiter/recent-slots.ts';
import { sizesOf } from '../../writer/row-files.ts';
import { EMPTY_TALLY, Tallying } from '../../writer/tally.ts';
import { MAX_SLOTS } from '../../checkpoint/call-series.ts';
import { joinSlots, storeSlots, readSlots } from '../../checkpoint/call-slots.ts';
import { PERIODS_MS } from '../../util/periods.ts';
import type { JobPaths } from '../lifecycle/paths.ts';
import { newCheckpoint } from '../lifecycle/new-checkpoint.ts';
import { addNotableCalls, NO_NOTABLE_CALLS } from '../../checkpoint/notable-calls.ts';
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
    totals: addTotals(
      shards.map(({ totals }) => totals),
      plan,
    ),
    trusted: plan.before?.trusted === true || shards.some(({ trusted }) => trusted),
    answered: plan.before?.answered === true || shards.some(({ answered }) => answered),
    spent: addSpent(shards),
    callsAtMost: (plan.before?.callsAtMost ?? 0) + sum(({ callsAtMost }) => callsAtMost),
    creditsAtMost: (plan.before?.creditsAtMost ?? 0) + sum(({ creditsAtMost }) => creditsAtMost),
  };
}

function addTotals(shards: readonly RunTotals[], { of, before }: ShardPlan): RunTotals {
  const all = before === undefined ? shards : [before.totals, ...shards];
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
    ...addRequests(all),
    ...(all.some(({ isSample }) => isSample === true) ? { isSample: true as const } : {}),
    latency: addCounts(all.map(({ latency }) => latency)),
    notable: addNotableCalls(all.map(({ notable = NO_NOTABLE_CALLS }) => notable)),
    runs: addRunLogs(all.map(({ runs = NO_RUNS }) => runs)),
    // Each shard uses its share of the plan: N shards at once take 1/N of the sum of their times.
    activeMs: (before?.totals.activeMs ?? 0) + Math.round(shards.reduce((total, { activeMs }) => total + activeMs, 0) / of),
    series: storeSlots(
      joinSlots(
        all.map(({ series }) => readSlots(series)),
        MAX_SLOTS,
      ),
    ),
  };
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
function addSpent(shards: readonly Checkpoint[]): SavedQuota | null {
  const all = shards.flatMap(({ spent }) => (spent === null ? [] : [spent]));
  if (all.length === 0) return null;
  const [later] = all.flatMap(({ later: one }) => (one === undefined ? [] : [one])).sort((one, other) => other.untilMs - one.untilMs);
  return {
    minute: joinRecent(
      all.flatMap(({ minute }) => minute).sort(([one], [other]) => one - other),
      PERIODS_MS.minute,
    ),
    savedAtMs: Math.max(...all.map(({ savedAtMs }) => savedAtMs)),
    ...(later === undefined ? {} : { later }),
    ...addBursts(all),
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
