/** From the last row to a finished job. Each step is durable before the next, so that a crash between two steps can be repaired. */
import { servicePace } from '../../definition/job-provider.ts';
import { writeCheckpoint, type Checkpoint, type FinishedOutput } from '../../checkpoint/checkpoint-file.ts';
import type { Fence } from '../../storage/fence.ts';
import { InputError } from '../../util/errors.ts';
import { damaged } from '../../storage/failure.ts';
import { describeChange } from '../../reader/freeze.ts';
import { partialPath } from '../../storage/names.ts';
import { storageOf } from '../../storage/storage-of.ts';
import { START_MARK } from '../../writer/resume-point.ts';
import { SIDE_FILES, type SideFile } from '../../definition/output-shape.ts';
import { finishedFile, ROW_FILES, sizeOf, withoutGaps, type RowFile } from '../../writer/row-files.ts';
import type { FinishedRows } from '../../writer/output-writer.ts';
import type { Tally } from '../../writer/tally.ts';
import { dropSpool } from './frozen-input.ts';
import { writeMarker } from './marker.ts';
import type { JobPaths } from './paths.ts';
import { buildReport, writeReports, type Report } from '../report/report.ts';
import { pageData } from '../report/page/page-data.ts';
import { reportPage } from '../report/page/report-page.ts';
import { ownRpm } from '../shards/shard-job.ts';
import { splitOutput } from './split-output.ts';
import { exists, isUnchanged } from './start-checks.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import { judgeFinished } from '../commands/exit-code.ts';
import { present } from '../../util/assert.ts';

type RowPaths = Pick<JobPaths, RowFile>;

/** @throws InputError when the input changed while it was read */
export async function refuseChangedInput({ manifest, shard }: Checkpoint, { total }: Tally, limit: number | null): Promise<void> {
  // The number of a shard's records is known.
  const changed =
    (await describeChange(manifest)) ??
    (shard === null || total === limit ? null : `shard ${shard.index} was to have ${limit} records and has ${total}.`);
  if (changed === null) return;
  throw new InputError('input_changed', `the input changed while it was read: ${changed}`, {
    hint:
      'Put the input back as it was and run the same command, or take it as it is now ' +
      'with --fresh. The rows are written again; what was paid for is in the ledger.',
  });
}

/** The checkpoint that says that all rows are written, and what the output is. It must be durable before a file takes its name. */
export function finishingCheckpoint(job: CompiledJob, latest: Checkpoint, finished: FinishedRows): Checkpoint {
  // A retry counts all rows from its start, and so not those before the end of a member: a longer run begins anew, from the ledger.
  const mark = latest.retry === null || (job.output.compression === 'none' && job.output.format !== 'parquet') ? finished.mark : START_MARK;
  const { mark: _, ...result } = finished;
  const now = new Date().toISOString();
  return {
    ...latest,
    state: 'finishing',
    updatedAt: now,
    finishedAt: now,
    ...judgeFinished(job, finished.tally, latest.previous),
    mark,
    result,
  };
}

/**
 * The output and the files of lines beside it take their names, the report and its page are written, and the checkpoint says finished.
 * @throws StorageError, or 75 when the job was lost
 */
export async function putInPlace(
  job: CompiledJob,
  paths: JobPaths,
  checkpoint: Checkpoint,
  commit: () => Promise<void>,
  fence: Fence,
): Promise<Report> {
  await commit();
  const result = await inPlace(paths, checkpoint.result);
  if (job.output.split !== null && result !== null) await splitOutput(job, paths.output, checkpoint.manifest, result, fence);
  const report = buildReport(checkpoint, job, ownRpm(servicePace(job), checkpoint));
  await writeReports(paths, report, reportPage(pageData(checkpoint, report)), fence);
  await writeMarker(paths, checkpoint, job.output.uri, fence);
  await writeCheckpoint(paths.checkpoint, { ...checkpoint, state: 'finished', retry: null, result }, fence);
  await dropRemains(paths, checkpoint, fence);
  return report;
}

/**
 * Removes the files that only an unfinished job needs. Done again by the next run, in case this one is killed here.
 * @throws StorageError for a spool only
 */
export async function dropRemains(paths: JobPaths, { manifest }: Checkpoint, fence: Fence): Promise<void> {
  for (const path of ROW_FILES.map((which) => paths[which])) await (await storageOf(path)).dropUnfinished(path, fence);
  await dropSpool(manifest, fence);
}

/** The versions of the files under their names. They are read while the lock is held. */
async function inPlace(paths: JobPaths, result: Checkpoint['result']): Promise<Checkpoint['result']> {
  if (result === null) return null;
  const { kept: _, ...finished } = result;
  const found: Partial<Record<RowFile, string | undefined>> = {};
  for (const which of ROW_FILES) {
    if (which === 'output' || sizeOf(finished, which) > 0) found[which] = await (await storageOf(paths[which])).version(paths[which]);
  }
  const versions = withoutGaps(found);
  return Object.keys(versions).length === 0 ? finished : { ...finished, versions };
}

/** After a crash between the last checkpoint and the renames: gives the files the names that are missing. */
export async function commitAgain(paths: RowPaths, checkpoint: Checkpoint, fence: Fence): Promise<void> {
  const result = present(checkpoint.result, 'a job that is finishing has a result');
  const output = await storageOf(paths.output);
  if ((await output.unfinished(paths.output)) !== null) await commitWhole(paths, 'output', result, fence);
  else if (!(await exists(paths.output)) || !(await isUnchanged(paths, 'output', result))) {
    throw new InputError(
      'output_missing',
      'the rows of this job, whole but for the name, are gone: neither ' +
        `${partialPath(paths.output)} is there, nor is ${paths.output} what they were`,
      { hint: 'Put the file back, or run with --fresh: all rows are written again, and what was paid for is in the ledger.' },
    );
  }
  for (const which of SIDE_FILES) await commitLines(paths, which, result, fence);
}

async function commitLines(paths: RowPaths, which: SideFile, result: FinishedOutput, fence: Fence): Promise<void> {
  const path = paths[which];
  const storage = await storageOf(path);
  const isUnfinished = (await storage.unfinished(path)) !== null;
  if (sizeOf(result, which) > 0) {
    if (isUnfinished) await commitWhole(paths, which, result, fence);
    return;
  }
  if (isUnfinished) await (await storage.open(path, 0, undefined, fence)).discard();
  await storage.remove(path, fence);
}

async function commitWhole(paths: RowPaths, which: RowFile, result: FinishedOutput, fence: Fence): Promise<void> {
  const path = paths[which];
  const { bytes, sha256 } = finishedFile(result, which);
  const file = await (await storageOf(path)).open(path, bytes, result.kept?.[which], fence);
  try {
    await file.sync();
    if ((await file.sha256()) !== sha256) throw damaged(partialPath(path), 'is not what the report is to say');
    await file.commit();
  } finally {
    await file.close();
  }
}
