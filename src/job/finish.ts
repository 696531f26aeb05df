/** From the last row to a job that is finished: each step durable before the next, so that a crash anywhere is made good. */
import { writeCheckpoint, type Checkpoint } from '../checkpoint/checkpoint-file.ts';
import { removeFile, type Fence } from '../checkpoint/fence.ts';
import { InputError } from '../errors.ts';
import { describeChange } from '../reader/freeze.ts';
import { START_MARK } from '../writer/mark.ts';
import { PartialFile, partialPath } from '../writer/partial-file.ts';
import { fileSha256 } from './file-digest.ts';
import { dropSpool } from './frozen-input.ts';
import type { JobPaths } from './paths.ts';
import { buildReport, writeReport, type Report } from './report.ts';
import type { RowSink } from './run-job.ts';
import { exists } from './start-checks.ts';
import type { CompiledJob } from './types.ts';
import { finishedExitCode } from './verdict.ts';

/**
 * All rows are written: says so durably, with what the output is, before anything takes its name.
 * @throws InputError when the input changed while it was read, StorageError, or 75 when the job was lost
 */
export async function markFinishing(job: CompiledJob, paths: JobPaths, latest: Checkpoint, finished: Awaited<ReturnType<RowSink['finish']>>, fence: Fence): Promise<Checkpoint> {
  const changed = await describeChange(latest.manifest);
  if (changed !== null) {
    throw new InputError('input_changed', `the input changed while it was read: ${changed}`, { hint: 'Put the input back as it was and run the same command, or take it as it is now with --fresh. The rows are written again; what was paid for is in the ledger.' });
  }
  const { tally, bytes, errorBytes } = finished;
  // A retry counts all rows from its start, and so not those before the end of a member: a longer run begins anew, from the ledger.
  const mark = latest.retry === null || job.output.compression === 'none' ? finished.mark : START_MARK;
  const now = new Date().toISOString();
  const checkpoint: Checkpoint = {
    ...latest,
    state: 'finishing',
    updatedAt: now,
    finishedAt: now,
    exitCode: finishedExitCode(job, tally),
    mark,
    result: { tally, bytes, errorBytes, sha256: await fileSha256(partialPath(paths.output)), errorsSha256: await fileSha256(partialPath(paths.errors)) },
  };
  await writeCheckpoint(paths.checkpoint, checkpoint, fence);
  return checkpoint;
}

/** Output and errors take their names, the report is written, and the checkpoint says finished. @throws StorageError, or 75 when the job was lost */
export async function putInPlace(job: CompiledJob, paths: JobPaths, checkpoint: Checkpoint, commit: () => Promise<void>, fence: Fence): Promise<Report> {
  await commit();
  const report = buildReport(checkpoint, job.output.uri, job.service.rpm);
  await writeReport(paths.report, report, fence);
  await writeCheckpoint(paths.checkpoint, { ...checkpoint, state: 'finished', retry: null }, fence);
  await dropSpool(checkpoint.manifest, fence);
  return report;
}

/** After a crash between the last checkpoint and the renames: those that are missing. */
export async function commitAgain(paths: JobPaths, { result }: Checkpoint, fence: Fence): Promise<void> {
  if (await exists(partialPath(paths.output))) await (await PartialFile.open(paths.output, result?.bytes ?? 0, fence)).commit();
  else if (!(await exists(paths.output)) || (await fileSha256(paths.output)) !== result?.sha256) {
    throw new InputError('output_missing', `the rows of this job, whole but for the name, are gone: neither ${partialPath(paths.output)} is there, nor is ${paths.output} what they were`, { hint: 'Put the file back, or run with --fresh: all rows are written again, and what was paid for is in the ledger.' });
  }
  const errorBytes = result?.errorBytes ?? 0;
  if (errorBytes === 0) {
    for (const path of [partialPath(paths.errors), paths.errors]) await removeFile(path, fence);
  } else if (await exists(partialPath(paths.errors))) {
    await (await PartialFile.open(paths.errors, errorBytes, fence)).commit();
  }
}
