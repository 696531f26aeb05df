/** Runs of the same job for earlier days that were not finished. */
import { readCheckpoint } from '../../checkpoint/checkpoint-file.ts';
import { CHECKPOINT_SUFFIX } from '../../definition/compile-job.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import { shiftDate } from '../../definition/expand.ts';
import { currentHolder } from '../../lock/job-lock.ts';
import { jobPaths } from './paths.ts';

/**
 * The days whose run is neither finished nor going on, the latest first. Empty for an output without a date, and where the checkpoint has a
 * name of its own. Never throws: only a warning depends on it.
 */
export async function unfinishedDays(job: CompiledJob, nowMs: number): Promise<string[]> {
  const {
    day,
    output: { uri, earlier },
  } = job;
  if (day === null || job.checkpoint.uri !== `${uri}${CHECKPOINT_SUFFIX}`) return [];
  const found = await Promise.all(
    earlier.map(async (before, at) => ((await isUnfinished(onDay(job, before), nowMs)) ? [shiftDate(day, -at - 1)] : [])),
  );
  return found.flat();
}

function onDay(job: CompiledJob, uri: string): CompiledJob {
  return {
    ...job,
    output: { ...job.output, uri },
    checkpoint: { ...job.checkpoint, uri: `${uri}${CHECKPOINT_SUFFIX}` },
  };
}

async function isUnfinished(job: CompiledJob, nowMs: number): Promise<boolean> {
  try {
    const { checkpoint, lock } = jobPaths(job, { scratch: null });
    const found = await readCheckpoint(checkpoint);
    const isOpen = found !== null && found.job === job.name && found.state !== 'finished';
    return isOpen && (await currentHolder(lock, nowMs)) === null;
  } catch {
    return false;
  }
}
