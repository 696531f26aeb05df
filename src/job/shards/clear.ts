import type { Fence } from '../../storage/fence.ts';
import { storageOf } from '../../storage/storage-of.ts';
import { withJobLock, type LockingOptions } from '../lifecycle/with-job-lock.ts';
import { renamedFiles, type JobPaths } from '../lifecycle/paths.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import { pathsOf } from './parts.ts';
import { ROW_FILES } from '../../writer/row-files.ts';
import { shardJob } from './shard-job.ts';
import type { ShardPlan } from './shard-plan.ts';

/**
 * Removes the files of the shards, and the shard plan last: after a crash in between, the next run does this again. Each shard is locked
 * meanwhile, so that none runs or begins.
 * @throws MillraceError 75 when one of them is at work, StorageError
 */
export async function clearShards(
  job: CompiledJob,
  paths: JobPaths,
  plan: ShardPlan,
  fence: Fence,
  options: LockingOptions,
): Promise<void> {
  for (const index of plan.ranges.keys()) {
    const part = pathsOf(shardJob(job, plan, index));
    await withJobLock(part, options, async (lock) => {
      await clearUnfinished(part, lock);
      for (const path of renamedFiles(part)) await (await storageOf(path)).remove(path, lock);
    });
  }
  await (await storageOf(paths.shards)).remove(paths.shards, fence);
}

/** Removes an unfinished output, and the unfinished files of lines beside it. @throws StorageError, or 75 when the job was lost */
export async function clearUnfinished(paths: JobPaths, fence: Fence): Promise<void> {
  for (const path of ROW_FILES.map((which) => paths[which])) {
    const storage = await storageOf(path);
    if ((await storage.unfinished(path)) !== null) await (await storage.open(path, 0, undefined, fence)).discard();
  }
}
