/** Files of a job that are gone when it is resumed, for example behind a volume that is not mounted. */
import { dirname } from 'node:path';
import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import { isShared } from '../../definition/ledger-location.ts';
import { Ledger } from '../../ledger/ledger.ts';
import { withoutSecret } from '../../redis/uri.ts';
import { isS3Uri } from '../../s3/uri.ts';
import { count } from '../../util/display.ts';
import { StorageError } from '../../util/errors.ts';
import { ledgerRights } from './ledger-rights.ts';
import type { JobPaths } from './paths.ts';
import { exists } from './start-checks.ts';

/** Refuses to make a folder anew that holds rows of this job elsewhere. @throws StorageError 74 */
export async function refuseLostFolder({ output }: Pick<JobPaths, 'output'>, { mark }: Pick<Checkpoint, 'mark'>): Promise<void> {
  const folder = dirname(output);
  if (mark.bytes === 0 || isS3Uri(output) || (await exists(folder))) return;
  throw new StorageError('output_folder_gone', `the folder ${folder} is gone, and with it the rows of this job`, {
    hint: 'Mount its volume, or put the folder back; then run the same command. An empty folder of this name has the rows written again.',
  });
}

const AGAIN = 'what was paid for is asked for again where its row is not written yet';

/** The warning that the file of this run's ledger lacks answers which the checkpoint counts; null when it has them. */
export async function lostAnswers(job: CompiledJob, paths: JobPaths, found: Checkpoint): Promise<string | null> {
  const { lookups } = found.totals;
  if (job.ledger.uri === '' || isFoundOnceOpen(job, found) || isS3Uri(paths.ledger) || lookups.unique === 0) return null;
  if (!(await exists(paths.ledger))) return `the ledger ${paths.ledger} is gone: ${AGAIN}`;
  const log = `${paths.ledger}-wal`;
  // The checkpoint of a killed run may count a little more than the ledger has. Such a run leaves the file with the last answers.
  const wasKilled = found.state === 'running';
  if (wasKilled && (await exists(log))) return null;
  const known = lookupsIn(job, paths, found);
  if (known >= lookups.unique) return null;
  return `${lacking(paths.ledger, known, lookups.unique)}${wasKilled ? `, and ${log} is gone` : ''}: ${AGAIN}`;
}

/**
 * The same of a ledger that other shards or machines may have changed by now: it is known once it is open.
 * @param known the run's lookups that the open ledger knows
 */
export function lostAnswersOfShared(job: CompiledJob, found: Checkpoint, known: number, wasKilled: boolean): string | null {
  const { unique } = found.totals.lookups;
  if (!isFoundOnceOpen(job, found) || known >= unique || (wasKilled && known > 0)) return null;
  return `${lacking(withoutSecret(job.ledger.uri), known, unique)}: ${AGAIN}`;
}

function isFoundOnceOpen({ ledger: { uri } }: CompiledJob, { shard }: Checkpoint): boolean {
  return shard !== null || isShared(uri);
}

function lacking(ledger: string, known: number, unique: number): string {
  return `the ledger ${ledger} has ${known === 0 ? 'none' : count(known)} of the ${count(unique)} lookups of this job`;
}

/** The lookups of the job that its ledger knows. A file without anything has none; whether it can be used is seen when the run opens it. */
function lookupsIn(job: CompiledJob, { ledger: path }: JobPaths, found: Checkpoint): number {
  try {
    const ledger = Ledger.open({ ...ledgerRights(job, found), path, readOnly: true });
    try {
      return ledger.totals().lookups;
    } finally {
      ledger.close();
    }
  } catch {
    return 0;
  }
}
