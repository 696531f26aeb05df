/** Decides the next action of a shard, under the lock of the whole job: when the shard begins, and after its part. */
import { randomUUID } from 'node:crypto';
import { nullIfFresh, readCheckpoint, type Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import type { JobLock } from '../../lock/job-lock.ts';
import { ConfigError } from '../../util/errors.ts';
import { findSplitPoints } from '../../reader/split-points.ts';
import { MEMBER } from '../../formats/compression/compressor.ts';
import { dropRemains } from '../lifecycle/commit.ts';
import { removeMarker } from '../lifecycle/marker.ts';
import type { LockingOptions } from '../lifecycle/with-job-lock.ts';
import type { JobPaths } from '../lifecycle/paths.ts';
import type { RunMessages } from '../progress/run-messages.ts';
import { decideStart } from '../lifecycle/start.ts';
import { type Start, type StartOptions } from '../lifecycle/start-decision.ts';
import { FRESH_HINT, refuseChangedDefinition, refuseForeignCheckpoint } from '../lifecycle/start-checks.ts';
import type { CompiledJob, Shard } from '../../definition/compiled-job.ts';
import { count } from '../../util/display.ts';
import { clearShards, clearUnfinished } from './clear.ts';
import { serviceAddressIn } from '../lifecycle/changed-definition.ts';
import { finishJoin, joinShards } from './join.ts';
import { joinedCheckpoint } from './merge.ts';
import { readParts, type ShardState } from './parts.ts';
import { shardName } from './shard-job.ts';
import { newShardPlan, readShardPlan, writeShardPlan, type ShardPlan } from './shard-plan.ts';
import type { HeldJob } from '../lifecycle/with-job-lock.ts';

type ShardDecision =
  /** The shard has rows to write. */
  | { readonly kind: 'run'; readonly plan: ShardPlan }
  /** All its rows are written. `waitsFor`: the shards that are not finished; empty when another process has joined the parts. */
  | { readonly kind: 'through'; readonly waitsFor: readonly string[] }
  /** All parts are joined. `because`: null when this process has joined them. `isNew`: as in `Start`. */
  | { readonly kind: 'done'; readonly checkpoint: Checkpoint; readonly because: string | null; readonly isNew?: boolean };

interface DecideShardOptions extends StartOptions, LockingOptions {
  readonly reporter: Pick<RunMessages, 'warn' | 'info'>;
  /** The run whose part this process has written; null before that. */
  readonly done: string | null;
}

/**
 * Decides the next action of a shard. It makes the shard plan when there is none, joins the parts when all are finished, and finishes what
 * a crash interrupted.
 * @throws ConfigError 78 when the job is under way in one piece or in other shards, and as `decideStart` and `joinShards`
 */
export async function decideShard(
  job: CompiledJob,
  paths: JobPaths,
  shard: Shard,
  lock: JobLock,
  options: DecideShardOptions,
): Promise<ShardDecision> {
  const plan = await readShardPlan(paths.shards, options.fresh);
  const found = await readCheckpoint(paths.checkpoint).catch((error: unknown) => nullIfFresh(error, options.fresh));
  if (plan !== null) refuseForeignCheckpoint(job, paths, plan);
  if (plan !== null && isJoined(plan, found)) {
    // A fresh start gives the join up: it may no longer be possible.
    const isNew = found.state === 'finishing' && !options.fresh;
    if (isNew) await finishJoin(job, paths, found, lock);
    else await dropRemains(paths, found, lock);
    await clearShards(job, paths, plan, lock, options);
    return afterJoin(await decideShard(job, paths, shard, lock, options), isNew);
  }
  if (plan === null && options.done !== null && found?.run === options.done) return { kind: 'through', waitsFor: [] };
  if (plan === null || options.fresh) return begin({ job, paths, lock }, shard, { plan, found }, options);
  const parts = await readParts(job, plan);
  refuseOtherPlan(job, paths, shard, plan, parts);
  const address = serviceAddressIn(job.fingerprint);
  if (JSON.stringify(serviceAddressIn(plan.fingerprint)) !== JSON.stringify(address)) {
    await writeShardPlan(paths.shards, { ...plan, fingerprint: { ...plan.fingerprint, ...address } }, lock);
  }
  if (parts[shard.index]?.finished !== true) return { kind: 'run', plan };
  const unfinished = parts.flatMap((part, index) => (part.finished ? [] : [shardName({ index, of: plan.of })]));
  if (unfinished.length > 0) return { kind: 'through', waitsFor: unfinished };
  return joinAll({ job, paths, lock }, plan, parts, options);
}

/** True when the checkpoint is of the joined job, and not of the run before its shards. */
export function isJoined(plan: ShardPlan, found: Checkpoint | null): found is Checkpoint {
  return found?.run === plan.run && found.finishedAt !== plan.before?.finishedAt;
}

async function joinAll(
  { job, paths, lock }: HeldJob,
  plan: ShardPlan,
  parts: readonly ShardState[],
  options: DecideShardOptions,
): Promise<ShardDecision> {
  options.reporter.info('joining', `all ${plan.of} shards are through: joining them`);
  const checkpoint = await joinShards(job, paths, plan, parts, lock, options.signal);
  await clearShards(job, paths, plan, lock, options);
  return { kind: 'done', checkpoint, because: null };
}

/** @param isNew this process has put the joined files in place, after the one that joined them was killed */
function afterJoin(decision: ShardDecision, isNew: boolean): ShardDecision {
  return decision.kind === 'done' && isNew ? { ...decision, isNew } : decision;
}

/** The job starts in shards, or has finished in one piece. */
async function begin(
  { job, paths, lock }: HeldJob,
  shard: Shard,
  { plan: old, found }: { readonly plan: ShardPlan | null; readonly found: Checkpoint | null },
  options: DecideShardOptions,
): Promise<ShardDecision> {
  if (old !== null) {
    await clearUnfinished(paths, lock);
    await clearShards(job, paths, old, lock, options);
  }
  if (found !== null && !options.fresh) refuseInOnePiece(job, paths, found);
  const start: Start = await decideStart(job, paths, { ...options, generationBefore: old?.generation ?? 0 });
  switch (start.kind) {
    case 'done':
      // A crash just before the end may have left it.
      await dropRemains(paths, start.checkpoint, lock);
      return start;
    case 'finish':
      await finishJoin(job, paths, start.checkpoint, lock);
      return afterJoin(await decideShard(job, paths, shard, lock, options), true);
    case 'go': {
      const { of } = shard;
      if (start.notice !== null) options.reporter.warn('written_again', start.notice);
      options.reporter.info('sharing_out', `finding where ${of} shards begin: the input is read once, and nothing is called`);
      const plan = await shareOut(job, paths, of, found, start.checkpoint, options);
      await removeMarker(paths, lock);
      await writeShardPlan(paths.shards, plan, lock);
      return { kind: 'run', plan };
    }
    default:
      return start satisfies never;
  }
}

/** Splits the input of a job that starts, or continues with a higher limit after `found`. @throws the errors of reading it */
async function shareOut(
  job: CompiledJob,
  { output }: JobPaths,
  of: number,
  found: Checkpoint | null,
  { manifest, generation, run }: Checkpoint,
  { now, signal }: StartOptions,
): Promise<ShardPlan> {
  // Parts of a compressed output that end with a full member are joined as they are.
  const group = job.output.compression === 'none' ? 1 : MEMBER.rows;
  const begun = found?.run === run ? beforeShards(found) : { run: randomUUID(), startedAt: now().toISOString() };
  return newShardPlan({
    job: job.name,
    output,
    fingerprint: job.fingerprint,
    generation,
    ...begun,
    of,
    manifest,
    ranges: await findSplitPoints(manifest, { of, group, signal }),
  });
}

/** The shards continue the same run: its answers, `unknown` and failures too, are not asked for again, and its costs count. */
function beforeShards({
  run,
  startedAt,
  totals,
  callsAtMost,
  creditsAtMost,
  trusted,
  answered,
  missForms,
  spent,
  providers,
  finishedAt,
}: Checkpoint): Pick<ShardPlan, 'run' | 'startedAt' | 'before'> {
  const known = { totals, callsAtMost, creditsAtMost, trusted, answered, missForms, spent, finishedAt };
  return { run, startedAt, before: { ...known, ...(providers === undefined ? {} : { providers }) } };
}

/**
 * The shard plan of the job, or the one that it would get; or how it would start, where shards have nothing to do. Changes nothing.
 * @throws as `decideShard`
 */
export async function previewShardPlan(
  job: CompiledJob,
  paths: JobPaths,
  shard: Shard,
  options: StartOptions,
): Promise<ShardPlan | Exclude<Start, { kind: 'go' }>> {
  const plan = await readShardPlan(paths.shards);
  const found = await readCheckpoint(paths.checkpoint);
  if (plan !== null && !isJoined(plan, found)) {
    refuseForeignCheckpoint(job, paths, plan);
    refuseOtherPlan(job, paths, shard, plan, await readParts(job, plan));
    return plan;
  }
  if (found !== null) refuseInOnePiece(job, paths, found);
  const start = await decideStart(job, paths, options);
  return start.kind === 'go' ? shareOut(job, paths, shard.of, found, start.checkpoint, options) : start;
}

/** @throws ConfigError 78 */
function refuseOtherPlan(job: CompiledJob, paths: JobPaths, { of }: Shard, plan: ShardPlan, parts: readonly ShardState[]): void {
  const { answered, totals } = joinedCheckpoint(
    job,
    paths,
    plan,
    parts.flatMap(({ checkpoint }) => (checkpoint === null ? [] : [checkpoint])),
  );
  refuseChangedDefinition(job, paths, { ...plan, limit: job.limits.limit, state: 'running', retry: null, answered, totals });
  if (plan.of === of) return;
  throw new ConfigError('job_in_shards', `this job is under way in ${plan.of} shards, and is to go on in ${of}`, {
    hint:
      `Go on with --shard I/${plan.of}; or start over with --shard 0/${of} ` +
      '--fresh, and then the others: what was paid for stays in the ledger.',
  });
}

/** @throws ConfigError 78 */
function refuseInOnePiece(job: CompiledJob, paths: JobPaths, found: Checkpoint): void {
  refuseForeignCheckpoint(job, paths, found);
  if (found.state === 'finished' || found.state === 'finishing') return;
  const what = found.retry === null ? `in one piece, with ${count(found.mark.tally.total)} rows written` : 'with a retry';
  throw new ConfigError('job_in_shards', `this job is under way ${what}, and cannot go on in shards`, {
    hint: `Go on with it without --shard. ${FRESH_HINT}`,
  });
}
