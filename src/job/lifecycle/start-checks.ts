/** Checks that every run and every retry makes before it begins. */
import type { Checkpoint, FinishedOutput } from '../../checkpoint/checkpoint-file.ts';
import { ConfigError, InputError } from '../../util/errors.ts';
import { isShared } from '../../definition/ledger-location.ts';
import { partialPath } from '../../storage/names.ts';
import { finishedFile, ROW_FILES, sizeOf, type RowFile } from '../../writer/row-files.ts';
import { storageOf } from '../../storage/storage-of.ts';
import { changedDefinition, type JobSoFar } from './changed-definition.ts';
import type { JobPaths } from './paths.ts';
import { isSamePlace } from '../../util/files/same-place.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';

export const FRESH_HINT = 'To start over, run with --fresh: what was paid for stays in the ledger.';

/** @throws InputError 65 when neither the job's name nor its output is that of the checkpoint */
export function refuseForeignCheckpoint(job: CompiledJob, paths: JobPaths, found: Pick<Checkpoint, 'job' | 'output'>): void {
  if (found.job === job.name || isSamePlace(found.output, paths.output)) return;
  throw new InputError(
    'checkpoint_of_another_job',
    `${paths.checkpoint} belongs to the job "${found.job}" with the output ${found.output}`,
    { hint: 'Name another output or checkpoint for this job.' },
  );
}

/** `--fresh` starts this job over, and no other. @throws InputError 65 */
export function refuseOthersOutput(job: CompiledJob, paths: JobPaths, found: Pick<Checkpoint, 'job' | 'output'>): void {
  if (found.job === job.name || !isSamePlace(found.output, paths.output)) return;
  throw new InputError(
    'output_not_ours',
    `${paths.output} belongs to the job ${JSON.stringify(found.job)}, and this one is called ${JSON.stringify(job.name)}`,
    {
      hint:
        'Name another output; or start that job over with --name ' +
        `${JSON.stringify(found.job)}; or move away its output and ${paths.checkpoint}.`,
    },
  );
}

/** @throws ConfigError 78 */
export function refuseChangedDefinition(job: CompiledJob, paths: JobPaths, found: Pick<Checkpoint, 'job' | 'output'> & JobSoFar): void {
  const difference = changedName(job, paths, found) ?? changedDefinition(job, found);
  if (difference === null) return;
  const hint =
    found.job === job.name
      ? `Put it back to go on with it. ${FRESH_HINT}`
      : `Say --name ${JSON.stringify(found.job)} to go on with that job, or name another output.`;
  throw new ConfigError('job_changed', `this job was started with another definition: ${difference}`, { hint });
}

function changedName(job: CompiledJob, paths: JobPaths, found: Pick<Checkpoint, 'job' | 'output'>): string | null {
  if (found.job !== job.name) return `name was ${JSON.stringify(found.job)} and is now ${JSON.stringify(job.name)}`;
  return isSamePlace(found.output, paths.output) ? null : `output.uri was ${found.output} and is now ${paths.output}`;
}

/** The names of the unfinished files in a message. */
const UNFINISHED: Readonly<Record<RowFile, string>> = {
  output: 'the unfinished output',
  errors: 'the unfinished errors file',
  open: 'the unfinished file of open rows',
};

/** The damage that keeps the unfinished files from being resumed, with the file's name; null when they are as the checkpoint has them. */
export async function unfinishedFlaw(paths: JobPaths, { mark }: Checkpoint): Promise<string | null> {
  for (const which of ROW_FILES) {
    const path = paths[which];
    const flaw = await (await storageOf(path)).flaw(path, sizeOf(mark, which), mark.kept?.[which]);
    if (flaw !== null) return `${UNFINISHED[which]} ${partialPath(path)} ${flaw}`;
  }
  return null;
}

export async function exists(path: string): Promise<boolean> {
  return (await storageOf(path)).exists(path);
}

/** True while the finished output, or a file of lines beside it, is as this job has written it. */
export async function isUnchanged(paths: Pick<JobPaths, RowFile>, which: RowFile, result: FinishedOutput): Promise<boolean> {
  return (await storageOf(paths[which])).isUnchanged(paths[which], finishedFile(result, which));
}

/** A shared ledger exists even when it is empty. */
export async function ledgerExists(job: CompiledJob, paths: JobPaths): Promise<boolean> {
  return isShared(job.ledger.uri) || exists(paths.ledger);
}
