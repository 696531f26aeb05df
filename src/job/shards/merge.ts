/** The checkpoints of all shards as the one of the whole job. Pure. */
import type { Checkpoint, RunTotals } from '../../checkpoint/checkpoint-file.ts';
import type { Spent } from '../../limiter/quota-model.ts';
import { EMPTY_TALLY, Tallying } from '../../writer/tally.ts';
import { MOST_SLOTS } from '../call-series.ts';
import { joinSlots, keepSlots, readSlots } from '../call-slots.ts';
import type { JobPaths } from '../paths.ts';
import { newCheckpoint } from '../start.ts';
import { addWaits } from '../wait-log.ts';
import type { CompiledJob } from '../types.ts';
import type { ShardPlan } from './shard-plan.ts';

/** What the shards that have begun add up to, in their order. It is `stopped`, and has no result. */
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
      // Rows follow one another: the last one of all is the last of the last shard that has any.
      position: shards.findLast(({ mark }) => mark.tally.total > 0)?.mark.position ?? null,
      bytes: sum(({ mark }) => mark.bytes),
      errorBytes: sum(({ mark }) => mark.errorBytes),
      tally: tallying.snapshot(),
    },
    totals: addTotals(shards.map(({ totals }) => totals), plan),
    trusted: plan.before?.trusted === true || shards.some(({ trusted }) => trusted),
    answered: plan.before?.answered === true || shards.some(({ answered }) => answered),
    spent: addSpent(shards),
    callsAtMost: (plan.before?.callsAtMost ?? 0) + sum(({ callsAtMost }) => callsAtMost),
  };
}

function addTotals(shards: readonly RunTotals[], { of, before }: ShardPlan): RunTotals {
  const all = before === undefined ? shards : [before.totals, ...shards];
  const sum = (count: (totals: RunTotals) => number): number => all.reduce((total, totals) => total + count(totals), 0);
  return {
    calls: addCounts(all.map(({ calls }) => calls)),
    lookups: { unique: sum(({ lookups }) => lookups.unique), fromLedger: sum(({ lookups }) => lookups.fromLedger) },
    retries: sum(({ retries }) => retries),
    throttled: { events: sum(({ throttled }) => throttled.events), waitedMs: sum(({ throttled }) => throttled.waitedMs) },
    waits: addWaits(all.map(({ waits }) => waits)),
    beyondPlan: sum(({ beyondPlan }) => beyondPlan),
    credits: sum(({ credits }) => credits),
    ...addRequests(all),
    latency: addCounts(all.map(({ latency }) => latency)),
    // Each shard may use its share of the plan only: so many at once take what one alone takes in the sum of their times, divided by all.
    activeMs: (before?.totals.activeMs ?? 0) + Math.round(shards.reduce((total, { activeMs }) => total + activeMs, 0) / of),
    series: keepSlots(joinSlots(all.map(({ series }) => readSlots(series)), MOST_SLOTS)),
  };
}

/** Each shard has a size of its own: the smallest is the one that works for all. */
function addRequests(all: readonly RunTotals[]): Pick<RunTotals, 'verifyRequests'> {
  const known = all.flatMap(({ verifyRequests }) => (verifyRequests === undefined ? [] : [verifyRequests]));
  if (known.length === 0) return {};
  const limits = known.flatMap(({ most }) => (most === null ? [] : [most]));
  return { verifyRequests: { size: Math.min(...known.map(({ size }) => size)), most: limits.length === 0 ? null : Math.min(...limits), tooLarge: known.reduce((sum, { tooLarge }) => sum + tooLarge, 0) } };
}

function addCounts(all: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const [name, count] of all.flatMap((counts) => Object.entries(counts))) sums[name] = (sums[name] ?? 0) + count;
  return sums;
}

/** As much as may have been spent, and as late; and the longest of the waits. */
function addSpent(shards: readonly Checkpoint[]): Spent | null {
  const all = shards.flatMap(({ spent }) => (spent === null ? [] : [spent]));
  if (all.length === 0) return null;
  const [later] = all.flatMap(({ later: one }) => (one === undefined ? [] : [one])).sort((one, other) => other.untilMs - one.untilMs);
  return { calls: all.reduce((sum, { calls }) => sum + calls, 0), lastAtMs: Math.max(...all.map(({ lastAtMs }) => lastAtMs)), ...(later === undefined ? {} : { later }) };
}
