/** All shards are through: their outputs become one, and the job is one that has finished like any other. */
import type { Checkpoint, FinishedOutput, RunTotals } from '../../checkpoint/checkpoint-file.ts';
import type { Fence } from '../../checkpoint/fence.ts';
import type { JobLock } from '../../checkpoint/job-lock.ts';
import { InputError } from '../../errors.ts';
import { Ledger } from '../../ledger/ledger.ts';
import { isShared } from '../../ledger/place.ts';
import { joinParts, type WrittenPart } from '../../writer/joined-file.ts';
import { keptFiles, START_MARK } from '../../writer/mark.ts';
import { commitAgain, markFinishing, putInPlace } from '../finish.ts';
import type { JobPaths } from '../paths.ts';
import { exists, isUnchanged } from '../start-checks.ts';
import type { CompiledJob } from '../types.ts';
import { joinedCheckpoint } from './merge.ts';
import type { Part } from './parts.ts';
import type { ShardPlan } from './shard-plan.ts';

interface Finished {
  readonly paths: JobPaths;
  readonly checkpoint: Checkpoint;
  readonly result: FinishedOutput;
}

/**
 * Joins the parts, all of which have finished, into the job's own output, errors file, report and checkpoint. Killed
 * before the checkpoint says `finishing`, it is done again from the start; after that, `finishJoin` does the rest.
 * The parts stay: of what S3 copies, the output is made only when it takes its name.
 * @throws InputError when a part is not what its shard has written, StorageError, 75 when the job was lost, the signal's reason
 */
export async function join(job: CompiledJob, paths: JobPaths, plan: ShardPlan, parts: readonly Part[], lock: JobLock, signal: AbortSignal): Promise<Checkpoint> {
  const finished = parts.map(finishedPart);
  for (const part of finished) {
    await refuseOther(part, 'output');
    if (part.result.errorBytes > 0) await refuseOther(part, 'errors');
  }
  const { compression, format } = job.output;
  const common = { fence: lock, signal, quoted: format !== 'jsonl' };
  const output = await joinParts({ ...common, path: paths.output, compression, parts: finished.map((part, i) => rowsOf(part, i === 0 && format !== 'jsonl')) });
  const errors = await joinParts({ ...common, path: paths.errors, compression: 'none', parts: finished.map(errorsOf) });
  const sum = joinedCheckpoint(job, paths, plan, finished.map(({ checkpoint }) => checkpoint));
  const joined = { ...sum, totals: { ...sum.totals, lookups: await lookupsOf(job, paths, sum) } };
  // Where a compressed output's last full member ends in the input nobody knows: a longer run begins anew, from the ledger.
  const mark = compression === 'none' ? { ...joined.mark, bytes: output.bytes, errorBytes: errors.bytes, ...keptFiles(output.kept, errors.kept) } : START_MARK;
  const result = { bytes: output.bytes, errorBytes: errors.bytes, sha256: output.sha256, errorsSha256: errors.sha256, tally: joined.mark.tally, ...keptFiles(output.kept, errors.kept) };
  const finishing = await markFinishing(job, paths, joined, { mark, ...result }, lock);
  return finishJoin(job, paths, finishing, lock);
}

/** What was joined takes its names. @throws StorageError, or 75 when the job was lost */
export async function finishJoin(job: CompiledJob, paths: JobPaths, finishing: Checkpoint, fence: Fence): Promise<Checkpoint> {
  await putInPlace(job, paths, finishing, () => commitAgain(paths, finishing, fence), fence);
  return { ...finishing, state: 'finished' };
}

/** A file that all shards have written to counts exactly; of any other ledger what they say adds up. */
async function lookupsOf(job: CompiledJob, paths: JobPaths, { run, totals: { lookups } }: Checkpoint): Promise<RunTotals['lookups']> {
  if (isShared(job.ledger.uri) || !(await exists(paths.ledger))) return lookups;
  const ledger = Ledger.open({ path: paths.ledger, job: job.name, run, maxAgeDays: job.ledger.maxAgeDays, now: Date.now, peek: true });
  try {
    const counted = ledger.totals();
    return counted.lookups > lookups.unique ? { unique: counted.lookups, fromLedger: counted.reused } : lookups;
  } finally {
    ledger.close();
  }
}

function finishedPart({ paths, checkpoint }: Part): Finished {
  const result = checkpoint?.result ?? null;
  if (checkpoint === null || result === null) throw new Error(`${paths.output} has not finished`);
  return { paths, checkpoint, result };
}

function rowsOf({ paths, checkpoint, result }: Finished, header: boolean): WrittenPart {
  return { path: paths.output, version: result.versions?.output ?? '', bytes: result.bytes, sha256: result.sha256, fullBytes: checkpoint.mark.bytes, header };
}

function errorsOf({ paths, result }: Finished): WrittenPart {
  return { path: paths.errors, version: result.versions?.errors ?? '', bytes: result.errorBytes, sha256: result.errorsSha256, fullBytes: result.errorBytes, header: false };
}

async function refuseOther({ paths, result }: Finished, which: 'output' | 'errors'): Promise<void> {
  if ((await exists(paths[which])) && (await isUnchanged(paths, which, result))) return;
  throw new InputError('output_not_ours', `${paths[which]} is not as its shard wrote it, or gone`, { hint: 'Remove the output of that shard and run it again: its rows are written again, from the ledger.' });
}
