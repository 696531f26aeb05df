import { writeCheckpoint, type Checkpoint, type FinishedOutput } from '../../checkpoint/checkpoint-file.ts';
import type { RunTotals } from '../../checkpoint/run-totals.ts';
import type { Fence } from '../../storage/fence.ts';
import type { JobLock } from '../../lock/job-lock.ts';
import { InputError } from '../../util/errors.ts';
import { Ledger } from '../../ledger/ledger.ts';
import { isShared } from '../../definition/ledger-location.ts';
import { joinParts, type RowsFile } from '../../writer/joined-file.ts';
import { resumeStates, START_MARK } from '../../writer/resume-point.ts';
import { findPreviousRun } from '../lifecycle/find-previous-run.ts';
import { commitAgain, finishingCheckpoint, putInPlace } from '../lifecycle/commit.ts';
import type { JobPaths } from '../lifecycle/paths.ts';
import { exists, isUnchanged } from '../lifecycle/start-checks.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import { joinedCheckpoint } from './merge.ts';
import type { ShardState } from './parts.ts';
import type { ShardPlan } from './shard-plan.ts';
import { present } from '../../util/assert.ts';

interface Finished {
  readonly paths: JobPaths;
  readonly checkpoint: Checkpoint;
  readonly result: FinishedOutput;
}

/**
 * Joins the parts of all shards into the job's own output, errors file, report and checkpoint. A crash before the checkpoint says
 * `finishing` leads to a new join; after that, `finishJoin` does the rest. The parts stay until then, because S3 copies them only when the
 * output takes its name.
 * @throws InputError when a part is not as its shard wrote it, StorageError, 75 when the job was lost, the signal's reason
 */
export async function joinShards(
  job: CompiledJob,
  paths: JobPaths,
  plan: ShardPlan,
  parts: readonly ShardState[],
  lock: JobLock,
  signal: AbortSignal,
): Promise<Checkpoint> {
  const finished = parts.map(finishedPart);
  for (const part of finished) {
    await refuseOther(part, 'output');
    if (part.result.errorBytes > 0) await refuseOther(part, 'errors');
  }
  const { compression, format } = job.output;
  const common = { fence: lock, signal, quoted: format !== 'jsonl' };
  const output = await joinParts({
    ...common,
    path: paths.output,
    compression,
    parts: finished.map((part, i) => rowsOf(part, i === 0 && format !== 'jsonl')),
  });
  const errors = await joinParts({ ...common, path: paths.errors, compression: 'none', parts: finished.map(errorsOf) });
  const sum = joinedCheckpoint(
    job,
    paths,
    plan,
    finished.map(({ checkpoint }) => checkpoint),
  );
  const joined = {
    ...sum,
    totals: { ...sum.totals, lookups: await lookupsOf(job, paths, sum) },
    previous: await findPreviousRun(job, sum.startedAt),
  };
  // The input position of a compressed output's last full member is unknown: a longer run writes all rows again, from the ledger.
  const mark =
    compression === 'none'
      ? { ...joined.mark, bytes: output.bytes, errorBytes: errors.bytes, ...resumeStates(output.kept, errors.kept) }
      : START_MARK;
  const result = {
    bytes: output.bytes,
    errorBytes: errors.bytes,
    sha256: output.sha256,
    errorsSha256: errors.sha256,
    tally: joined.mark.tally,
    ...resumeStates(output.kept, errors.kept),
  };
  const finishing = finishingCheckpoint(job, joined, { mark, ...result });
  await writeCheckpoint(paths.checkpoint, finishing, lock);
  return finishJoin(job, paths, finishing, lock);
}

/** Gives the joined files their names. @throws StorageError, or 75 when the job was lost */
export async function finishJoin(job: CompiledJob, paths: JobPaths, finishing: Checkpoint, fence: Fence): Promise<Checkpoint> {
  await putInPlace(job, paths, finishing, () => commitAgain(paths, finishing, fence), fence);
  return { ...finishing, state: 'finished' };
}

/** A ledger file of all shards counts exactly; for any other ledger the shards' counts are added up. */
async function lookupsOf(job: CompiledJob, paths: JobPaths, { run, totals: { lookups } }: Checkpoint): Promise<RunTotals['lookups']> {
  if (isShared(job.ledger.uri) || !(await exists(paths.ledger))) return lookups;
  const ledger = Ledger.open({ path: paths.ledger, job: job.name, run, maxAgeDays: job.ledger.maxAgeDays, now: Date.now, readOnly: true });
  try {
    const counted = ledger.totals();
    return counted.lookups > lookups.unique ? { unique: counted.lookups, fromLedger: counted.reused } : lookups;
  } finally {
    ledger.close();
  }
}

function finishedPart({ paths, checkpoint }: ShardState): Finished {
  const finished = present(checkpoint, `${paths.output} has finished`);
  return { paths, checkpoint: finished, result: present(finished.result, `${paths.output} has finished`) };
}

function rowsOf({ paths, checkpoint, result }: Finished, header: boolean): RowsFile {
  return {
    path: paths.output,
    version: result.versions?.output ?? '',
    bytes: result.bytes,
    sha256: result.sha256,
    fullBytes: checkpoint.mark.bytes,
    header,
  };
}

function errorsOf({ paths, result }: Finished): RowsFile {
  return {
    path: paths.errors,
    version: result.versions?.errors ?? '',
    bytes: result.errorBytes,
    sha256: result.errorsSha256,
    fullBytes: result.errorBytes,
    header: false,
  };
}

async function refuseOther({ paths, result }: Finished, which: 'output' | 'errors'): Promise<void> {
  if ((await exists(paths[which])) && (await isUnchanged(paths, which, result))) return;
  throw new InputError('output_not_ours', `${paths[which]} is not as its shard wrote it, or gone`, {
    hint: 'Remove the output of that shard and run it again: its rows are written again, from the ledger.',
  });
}
