/** Shards, for a command that runs the whole job. */
import { nullIfFresh, readCheckpoint } from '../../checkpoint/checkpoint-file.ts';
import type { Fence } from '../../storage/fence.ts';
import { ConfigError } from '../../util/errors.ts';
import { storageOf } from '../../storage/storage-of.ts';
import type { LockingOptions } from '../lifecycle/with-job-lock.ts';
import type { JobPaths } from '../lifecycle/paths.ts';
import { refuseForeignCheckpoint } from '../lifecycle/start-checks.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import { clearShards, clearUnfinished } from './clear.ts';
import { finishJoin } from './join.ts';
import { isJoined } from './decide-shard.ts';
import { readShardPlan, type ShardPlan } from './shard-plan.ts';

/** The shard plan; null when the job has none, or its shards have been joined. @throws InputError, StorageError */
export async function shardsUnderWay(paths: JobPaths): Promise<ShardPlan | null> {
  const plan = await readShardPlan(paths.shards);
  return plan === null || isJoined(plan, await readCheckpoint(paths.checkpoint)) ? null : plan;
}

/** @throws ConfigError 78 when the job is under way in shards */
export async function refuseShards(paths: JobPaths): Promise<void> {
  const plan = await shardsUnderWay(paths);
  if (plan === null) return;
  throw new ConfigError('job_in_shards', `this job is under way in ${plan.of} shards, and cannot go on in one piece`, {
    hint:
      `Go on with --shard I/${plan.of}, from 0/${plan.of} to ${plan.of - 1}/${plan.of}. To ` +
      'start over in one piece, run with --fresh: what was paid for stays in the ledger.',
  });
}

/**
 * Removes the files of shards that were joined, or that a fresh start gives up. A join that a crash interrupted is finished first.
 * @returns the generation of the shards; 0 without shards
 * @throws InputError 65 for shards of another job, ConfigError 78 when the shards have not finished, 75 when one of them runs
 */
export async function leaveShards(
  job: CompiledJob,
  paths: JobPaths,
  fresh: boolean,
  fence: Fence,
  options: LockingOptions,
): Promise<number> {
  const plan = await readShardPlan(paths.shards, fresh);
  if (plan === null) return 0;
  refuseForeignCheckpoint(job, paths, plan);
  if (!fresh) await refuseShards(paths);
  const found = await readCheckpoint(paths.checkpoint).catch((error: unknown) => nullIfFresh(error, fresh));
  if (!isJoined(plan, found)) await clearUnfinished(paths, fence);
  // The output is made of the shards' files.
  else if (found.state === 'finishing' && !fresh) await finishJoin(job, paths, found, fence);
  await clearShards(job, paths, plan, fence, options);
  return plan.generation;
}

/**
 * `--fresh` starts over although the shard plan is damaged. Its generation is unknown, so the plan goes only after the new checkpoint is
 * written: a crash in between would otherwise begin a generation that was used before. @throws StorageError, or 75 when the job was lost
 */
export async function dropDamagedPlan(paths: JobPaths, fence: Fence): Promise<void> {
  await (await storageOf(paths.shards)).remove(paths.shards, fence);
}
