import { readCheckpoint, type Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import { FILES_AT_ONCE } from '../../formats/limits.ts';
import { mapConcurrently } from '../../util/map-concurrently.ts';
import { jobPaths, type JobPaths } from '../lifecycle/paths.ts';
import { exists } from '../lifecycle/start-checks.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import { recordsOf, shardJob } from './shard-job.ts';
import type { ShardPlan } from './shard-plan.ts';

/** A shard's part of the job, from its checkpoint. */
export interface ShardState {
  readonly job: CompiledJob;
  readonly paths: JobPaths;
  /** Null before the shard has begun. */
  readonly checkpoint: Checkpoint | null;
  /** All its rows are in its own output. */
  readonly finished: boolean;
}

/** @throws InputError, StorageError */
export async function readParts(job: CompiledJob, plan: ShardPlan): Promise<ShardState[]> {
  return mapConcurrently(plan.ranges, FILES_AT_ONCE, (_, index) => readPart(job, plan, index));
}

async function readPart(job: CompiledJob, plan: ShardPlan, index: number): Promise<ShardState> {
  const own = shardJob(job, plan, index);
  const paths = pathsOf(own);
  const found = await readCheckpoint(paths.checkpoint);
  // An earlier run in shards may have left a checkpoint.
  const checkpoint = found?.run === plan.run ? found : null;
  const through = checkpoint?.state === 'finished' && checkpoint.result?.tally.total === recordsOf(job, plan, index);
  return { job: own, paths, checkpoint, finished: through && (await exists(paths.output)) };
}

/** The files of a shard; it needs no scratch folder. */
export function pathsOf(job: CompiledJob): JobPaths {
  return jobPaths(job, { scratch: null });
}
