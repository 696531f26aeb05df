import type { Fence } from '../../checkpoint/fence.ts';
import { storageOf } from '../../storage/storages.ts';
import { holdJob, type HoldOptions } from '../hold-job.ts';
import { namedFiles, type JobPaths } from '../paths.ts';
import type { CompiledJob } from '../types.ts';
import { pathsOf } from './parts.ts';
import { shardJob } from './shard-job.ts';
import type { ShardPlan } from './shard-plan.ts';

/**
 * Removes what the shards have, and last how the job was shared out: whoever is killed in between begins this again. Each
 * shard is held meanwhile, so that none is at work, or begins.
 * @throws MillraceError 75 when one of them is at work, StorageError
 */
export async function clearShards(job: CompiledJob, paths: JobPaths, plan: ShardPlan, fence: Fence, options: HoldOptions): Promise<void> {
  for (const index of plan.ranges.keys()) {
    const part = pathsOf(shardJob(job, plan, index));
    await holdJob(part, options, async (lock) => {
      await clearUnfinished(part, lock);
      for (const path of namedFiles(part)) await (await storageOf(path)).remove(path, lock);
    });
  }
  await (await storageOf(paths.shards)).remove(paths.shards, fence);
}

/** Removes what there is of an output, and of its errors file, without their names. @throws StorageError, or 75 when the job was lost */
export async function clearUnfinished(paths: JobPaths, fence: Fence): Promise<void> {
  for (const path of [paths.output, paths.errors]) {
    const storage = await storageOf(path);
    if ((await storage.unfinished(path)) !== null) await (await storage.open(path, 0, undefined, fence)).discard();
  }
}
