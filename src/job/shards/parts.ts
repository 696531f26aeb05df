/** What the shards of a job have done so far, by their checkpoints. */
import { readCheckpoint, type Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import { FILES_AT_ONCE } from '../../reader/limits.ts';
import { sideBySide } from '../../reader/side-by-side.ts';
import { jobPaths, type JobPaths } from '../paths.ts';
import { exists } from '../start-checks.ts';
import type { CompiledJob } from '../types.ts';
import { recordsOf, shardJob } from './shard-job.ts';
import type { ShardPlan } from './shard-plan.ts';

export interface Part {
  readonly job: CompiledJob;
  readonly paths: JobPaths;
  /** Null: it has not begun. */
  readonly checkpoint: Checkpoint | null;
  /** All its rows are in its own output. */
  readonly finished: boolean;
}

/** @throws InputError, StorageError */
export async function readParts(job: CompiledJob, plan: ShardPlan): Promise<Part[]> {
  return sideBySide(plan.ranges, FILES_AT_ONCE, (_, index) => readPart(job, plan, index));
}

async function readPart(job: CompiledJob, plan: ShardPlan, index: number): Promise<Part> {
  const own = shardJob(job, plan, index);
  const paths = pathsOf(own);
  const found = await readCheckpoint(paths.checkpoint);
  // What an earlier run in shards has left is not this one's.
  const checkpoint = found?.run === plan.run ? found : null;
  const through = checkpoint?.state === 'finished' && checkpoint.result?.tally.total === recordsOf(job, plan, index);
  return { job: own, paths, checkpoint, finished: through && (await exists(paths.output)) };
}

/** A shard keeps nothing in scratch. */
export function pathsOf(job: CompiledJob): JobPaths {
  return jobPaths(job, { scratch: null });
}
