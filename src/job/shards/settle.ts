/** What there is to do for a shard. Asked when it begins and when it is through, under the lock of the whole job. */
import { randomUUID } from 'node:crypto';
import { nullIfFresh, readCheckpoint, type Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import type { JobLock } from '../../checkpoint/job-lock.ts';
import { ConfigError } from '../../errors.ts';
import { findCuts } from '../../reader/cuts.ts';
import { MEMBER } from '../../writer/compressor.ts';
import { dropRemains } from '../finish.ts';
import type { HoldOptions } from '../hold-job.ts';
import type { JobPaths } from '../paths.ts';
import type { Reporter } from '../reporter.ts';
import { decideStart, type Start, type StartOptions } from '../start.ts';
import { FRESH_HINT, refuseChangedDefinition, refuseForeignCheckpoint } from '../start-checks.ts';
import type { CompiledJob, Shard } from '../types.ts';
import { count } from '../words.ts';
import { clearShards, clearUnfinished } from './clear.ts';
import { addressIn } from '../changed-definition.ts';
import { finishJoin, join } from './join.ts';
import { joinedCheckpoint } from './merge.ts';
import { readParts, type Part } from './parts.ts';
import { shardName } from './shard-job.ts';
import { newShardPlan, readShardPlan, writeShardPlan, type ShardPlan } from './shard-plan.ts';

export type Settled =
  /** This shard has rows to write. */
  | { readonly kind: 'run'; readonly plan: ShardPlan }
  /** It has none left, and others have; nobody: another process has joined what they wrote. */
  | { readonly kind: 'through'; readonly waitsFor: readonly string[] }
  /** All shards are through, and the job is one again. `because`: null when this process has joined it. */
  | { readonly kind: 'done'; readonly checkpoint: Checkpoint; readonly because: string | null };

export interface SettleOptions extends StartOptions, HoldOptions {
  readonly reporter: Pick<Reporter, 'warn' | 'info'>;
  /** Of what run this process has done its shard; null: of none yet. */
  readonly done: string | null;
}

/**
 * Shares the job out, if that has not been done; joins the parts, if all are there; and does what a crash in between has
 * left undone.
 * @throws ConfigError 78 when the job is under way in another way, and as `decideStart` and `join`
 */
export async function settle(job: CompiledJob, paths: JobPaths, shard: Shard, lock: JobLock, options: SettleOptions): Promise<Settled> {
  const plan = await readShardPlan(paths.shards, options.fresh);
  const found = await readCheckpoint(paths.checkpoint).catch((error: unknown) => nullIfFresh(error, options.fresh));
  if (plan !== null) refuseForeignCheckpoint(job, paths, plan);
  if (plan !== null && isJoined(plan, found)) {
    // Started over, it need not be possible any more.
    if (found.state === 'finishing' && !options.fresh) await finishJoin(job, paths, found, lock);
    else await dropRemains(paths, found, lock);
    await clearShards(job, paths, plan, lock, options);
    return settle(job, paths, shard, lock, options);
  }
  if (plan === null && options.done !== null && found?.run === options.done) return { kind: 'through', waitsFor: [] };
  if (plan === null || options.fresh) return begin(job, paths, shard, plan, found, lock, options);
  const parts = await readParts(job, plan);
  refuseOtherPlan(job, paths, shard, plan, parts);
  const address = addressIn(job.fingerprint);
  if (JSON.stringify(addressIn(plan.fingerprint)) !== JSON.stringify(address)) {
    await writeShardPlan(paths.shards, { ...plan, fingerprint: { ...plan.fingerprint, ...address } }, lock);
  }
  if (parts[shard.index]?.finished !== true) return { kind: 'run', plan };
  const unfinished = parts.flatMap((part, index) => (part.finished ? [] : [shardName({ index, of: plan.of })]));
  if (unfinished.length > 0) return { kind: 'through', waitsFor: unfinished };
  return joinAll(job, paths, plan, parts, lock, options);
}

/** Whether a checkpoint is of the job that was joined of the shards, and not of the run as it was before them. */
export function isJoined(plan: ShardPlan, found: Checkpoint | null): found is Checkpoint {
  return found?.run === plan.run && found.finishedAt !== plan.before?.finishedAt;
}

async function joinAll(job: CompiledJob, paths: JobPaths, plan: ShardPlan, parts: readonly Part[], lock: JobLock, options: SettleOptions): Promise<Settled> {
  options.reporter.info('joining', `all ${plan.of} shards are through: joining them`);
  const checkpoint = await join(job, paths, plan, parts, lock, options.signal);
  await clearShards(job, paths, plan, lock, options);
  return { kind: 'done', checkpoint, because: null };
}

/** The job begins, or has finished in one piece. */
async function begin(job: CompiledJob, paths: JobPaths, shard: Shard, old: ShardPlan | null, found: Checkpoint | null, lock: JobLock, options: SettleOptions): Promise<Settled> {
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
      return settle(job, paths, shard, lock, options);
    case 'go': {
      const { of } = shard;
      if (start.notice !== null) options.reporter.warn('written_again', start.notice);
      options.reporter.info('sharing_out', `finding where ${of} shards begin: the input is read once, and nothing is called`);
      const plan = await shareOut(job, paths, of, found, start.checkpoint, options);
      await writeShardPlan(paths.shards, plan, lock);
      return { kind: 'run', plan };
    }
    default:
      return start satisfies never;
  }
}

/** Cuts the input of a job that begins, or goes on with a higher limit after `found`. @throws what reading it throws */
async function shareOut(job: CompiledJob, { output }: JobPaths, of: number, found: Checkpoint | null, { manifest, generation, run }: Checkpoint, { now, signal }: StartOptions): Promise<ShardPlan> {
  // Parts of a compressed output that end with a full member are joined as they are.
  const group = job.output.compression === 'none' ? 1 : MEMBER.rows;
  const begun = found?.run === run ? beforeShards(found) : { run: randomUUID(), startedAt: now().toISOString() };
  return newShardPlan({ job: job.name, output, fingerprint: job.fingerprint, generation, ...begun, of, manifest, ranges: await findCuts(manifest, { of, group, signal }) });
}

/** The same run: what it was told, `unknown` and failures too, is not asked for again, and what it has cost counts. */
function beforeShards({ run, startedAt, totals, callsAtMost, trusted, answered, spent, finishedAt }: Checkpoint): Pick<ShardPlan, 'run' | 'startedAt' | 'before'> {
  return { run, startedAt, before: { totals, callsAtMost, trusted, answered, spent, finishedAt } };
}

/**
 * How the job is or would be shared out; or how it would begin, where there is nothing for shards to do. Changes nothing.
 * @throws as `settle`
 */
export async function look(job: CompiledJob, paths: JobPaths, shard: Shard, options: StartOptions): Promise<ShardPlan | Exclude<Start, { kind: 'go' }>> {
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
function refuseOtherPlan(job: CompiledJob, paths: JobPaths, { of }: Shard, plan: ShardPlan, parts: readonly Part[]): void {
  const { answered, totals } = joinedCheckpoint(job, paths, plan, parts.flatMap(({ checkpoint }) => (checkpoint === null ? [] : [checkpoint])));
  refuseChangedDefinition(job, paths, { ...plan, limit: job.limits.limit, state: 'running', retry: null, answered, totals });
  if (plan.of === of) return;
  throw new ConfigError('job_in_shards', `this job is under way in ${plan.of} shards, and is to go on in ${of}`, { hint: `Go on with --shard I/${plan.of}; or start over with --shard 0/${of} --fresh, and then the others: what was paid for stays in the ledger.` });
}

/** @throws ConfigError 78 */
function refuseInOnePiece(job: CompiledJob, paths: JobPaths, found: Checkpoint): void {
  refuseForeignCheckpoint(job, paths, found);
  if (found.state === 'finished' || found.state === 'finishing') return;
  const what = found.retry === null ? `in one piece, with ${count(found.mark.tally.total)} rows written` : 'with a retry';
  throw new ConfigError('job_in_shards', `this job is under way ${what}, and cannot go on in shards`, { hint: `Go on with it without --shard. ${FRESH_HINT}` });
}
