import { writeCheckpoint, type Checkpoint, type FinishedOutput } from '../../checkpoint/checkpoint-file.ts';
import type { RunTotals } from '../../checkpoint/run-totals.ts';
import type { Fence } from '../../storage/fence.ts';
import type { JobLock } from '../../lock/job-lock.ts';
import { InputError } from '../../util/errors.ts';
import { Ledger } from '../../ledger/ledger.ts';
import { isShared } from '../../definition/ledger-location.ts';
import type { SideFile } from '../../definition/output-shape.ts';
import { joinParts, type JoinedFile, type RowsFile } from '../../writer/joined-file.ts';
import { START_MARK } from '../../writer/resume-point.ts';
import { digestsOf, finishedFile, resumeStates, ROW_FILES, sizeOf, sizesOf, type RowFile } from '../../writer/row-files.ts';
import { findPreviousRun } from '../lifecycle/find-previous-run.ts';
import { commitAgain, finishingCheckpoint, putInPlace } from '../lifecycle/commit.ts';
import type { JobPaths } from '../lifecycle/paths.ts';
import { exists, isUnchanged } from '../lifecycle/start-checks.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import { joinedCheckpoint } from './merge.ts';
import type { ShardState } from './parts.ts';
import type { ShardPlan } from './shard-plan.ts';
import { present } from '../../util/assert.ts';

/** A file of lines that no row has a line in: it is not published. */
const NO_LINES: JoinedFile = { bytes: 0, sha256: '', kept: undefined };

interface Finished {
  readonly paths: JobPaths;
  readonly checkpoint: Checkpoint;
  readonly result: FinishedOutput;
}

/**
 * Joins the parts of all shards into the job's own output, the files of lines beside it, report and checkpoint. A crash before the
 * checkpoint says `finishing` leads to a new join; after that, `finishJoin` does the rest. The parts stay until then, because S3 copies
 * them only when the output takes its name.
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
    for (const which of ROW_FILES) if (which === 'output' || sizeOf(part.result, which) > 0) await refuseOther(part, which);
  }
  const { compression, format } = job.output;
  const common = { fence: lock, signal, quoted: format !== 'jsonl' };
  const output = await joinParts({
    ...common,
    path: paths.output,
    compression,
    parts: finished.map((part, i) => rowsOf(part, i === 0 && format !== 'jsonl')),
  });
  const joinLines = async (which: SideFile): Promise<JoinedFile> => {
    const lines = finished.map((part) => linesOf(part, which)).filter(({ bytes }) => bytes > 0);
    return lines.length === 0 ? NO_LINES : joinParts({ ...common, path: paths[which], compression: 'none', parts: lines });
  };
  const files = { output, errors: await joinLines('errors'), open: await joinLines('open') };
  const sizes = sizesOf(mapFiles(files, ({ bytes }) => bytes));
  const kept = resumeStates(mapFiles(files, (file) => file.kept));
  const sum = joinedCheckpoint(
    job,
    paths,
    plan,
    finished.map(({ checkpoint }) => checkpoint),
  );
  const joined = {
    ...sum,
    totals: { ...sum.totals, lookups: await lookupsOf(job, paths, sum) },
    previous: await findPreviousRun(job, sum.startedAt, sum.manifest.files),
  };
  // The input position of a compressed output's last full member is unknown: a longer run writes all rows again, from the ledger.
  const mark = compression === 'none' ? { ...joined.mark, ...sizes, ...kept } : START_MARK;
  const digests = digestsOf(
    mapFiles(files, ({ sha256 }) => sha256),
    sizes,
  );
  const result = { ...sizes, ...digests, tally: joined.mark.tally, ...kept };
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

function linesOf({ paths, result }: Finished, which: SideFile): RowsFile {
  const { bytes, sha256, version = '' } = finishedFile(result, which);
  return { path: paths[which], version, bytes, sha256, fullBytes: bytes, header: false };
}

function mapFiles<T, U>(files: Readonly<Record<RowFile, T>>, of: (file: T) => U): Readonly<Record<RowFile, U>> {
  return { output: of(files.output), errors: of(files.errors), open: of(files.open) };
}

async function refuseOther({ paths, result }: Finished, which: RowFile): Promise<void> {
  if ((await exists(paths[which])) && (await isUnchanged(paths, which, result))) return;
  throw new InputError('output_not_ours', `${paths[which]} is not as its shard wrote it, or gone`, {
    hint: 'Remove the output of that shard and run it again: its rows are written again, from the ledger.',
  });
}
