import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { access, copyFile, rename, rm } from 'node:fs/promises';
import { readCheckpoint, type Checkpoint } from '../checkpoint/checkpoint-file.ts';
import { ConfigError, InputError, StorageError } from '../errors.ts';
import { compareManifests, describeChange, freezeInput } from '../reader/freeze.ts';
import type { InputManifest } from '../reader/types.ts';
import { START_MARK } from '../writer/mark.ts';
import { partialPath } from '../writer/partial-file.ts';
import { resultColumnNames } from '../writer/result-columns.ts';
import { describeDifference } from './definition/compile-job.ts';
import { ownFiles, type JobPaths } from './paths.ts';
import type { CompiledJob } from './types.ts';

/** How a run begins. */
export type Start =
  /** From the beginning, or where it stopped. `reopen`: a finished pilot goes on, see `reopenOutput`. */
  | { readonly kind: 'go'; readonly checkpoint: Checkpoint; readonly resumed: boolean; readonly reopen: boolean }
  /** The rows are all written; only the last renames are missing. */
  | { readonly kind: 'finish'; readonly checkpoint: Checkpoint }
  /** Finished before, and nothing has changed since. */
  | { readonly kind: 'done'; readonly checkpoint: Checkpoint };

const FRESH_HINT = 'To start over, run with --fresh: what was paid for stays in the ledger.';

/**
 * Decides from the checkpoint, the output and the input how this run begins. Changes nothing on disk (but for the
 * spool of standard input).
 * @throws InputError 65, ConfigError 78, StorageError 74
 */
export async function decideStart(job: CompiledJob, paths: JobPaths, options: { fresh: boolean; now: () => Date; signal: AbortSignal }): Promise<Start> {
  const freeze = (): Promise<InputManifest> => freezeJobInput(job, paths, options.signal);
  const found = await readCheckpoint(paths.checkpoint);
  if (found === null) {
    await refuseForeignOutput(paths);
    return go(newCheckpoint(job, paths, await freeze(), 1, options.now()));
  }
  if (found.job !== job.name || found.output !== paths.output) {
    throw new InputError('checkpoint_of_another_job', `${paths.checkpoint} belongs to the job "${found.job}" with the output ${found.output}`, { hint: 'Name another output or checkpoint for this job.' });
  }
  if (options.fresh) return go(newCheckpoint(job, paths, await freeze(), found.generation + 1, options.now()));
  refuseOtherDefinition(job, found);
  if (found.state === 'finishing') return { kind: 'finish', checkpoint: found };
  if (found.state === 'finished') return afterFinish(job, paths, found, await freeze(), options.now());
  const changed = await changedSince(job, paths, found, options.signal);
  if (changed !== null) throw new InputError('input_changed', `the input changed while the job was under way: ${changed}`, { hint: `Put the input back as it was to resume. ${FRESH_HINT}` });
  return { kind: 'go', checkpoint: { ...found, limit: job.limits.limit }, resumed: true, reopen: false };
}

/** The job's input as it is now. */
export async function freezeJobInput(job: CompiledJob, paths: JobPaths, signal: AbortSignal): Promise<InputManifest> {
  return freezeInput({
    ...job.input,
    isOwn: ownFiles(paths),
    reservedColumns: job.output.format === 'jsonl' ? [] : resultColumnNames(job.output.fields),
    needColumns: job.output.format !== 'jsonl',
    spoolPath: paths.spool,
    signal,
  });
}

function go(checkpoint: Checkpoint): Start {
  return { kind: 'go', checkpoint, resumed: false, reopen: false };
}

export function newCheckpoint(job: CompiledJob, paths: JobPaths, manifest: InputManifest, generation: number, now: Date): Checkpoint {
  return {
    version: 1,
    job: job.name,
    output: paths.output,
    fingerprint: job.fingerprint,
    generation,
    run: randomUUID(),
    manifest,
    limit: job.limits.limit,
    state: 'running',
    startedAt: now.toISOString(),
    updatedAt: now.toISOString(),
    finishedAt: null,
    exitCode: null,
    mark: START_MARK,
    totals: { calls: {}, lookups: { unique: 0, fromLedger: 0 }, retries: 0, throttled: { events: 0, waitedMs: 0 }, credits: 0, latency: {}, activeMs: 0 },
    trusted: false,
    result: null,
  };
}

async function refuseForeignOutput(paths: JobPaths): Promise<void> {
  for (const path of [paths.output, partialPath(paths.output)]) {
    if (await exists(path)) {
      throw new InputError('output_not_ours', `${path} exists, and there is no checkpoint (${paths.checkpoint}) that says it is this job's`, { hint: 'Move it away, or name another output.' });
    }
  }
}

function refuseOtherDefinition(job: CompiledJob, found: Checkpoint): void {
  const difference = describeDifference(found.fingerprint, job.fingerprint);
  if (difference !== null) {
    throw new ConfigError('job_changed', `this job was started with another definition: ${difference}`, { hint: `Put it back to resume. ${FRESH_HINT}` });
  }
  const before = found.limit ?? Infinity;
  const now = job.limits.limit ?? Infinity;
  if (now < before) {
    throw new ConfigError('job_changed', `this job was started with another definition: limits.limit was ${found.limit ?? 'not set'} and is ${now}; it can only be raised`, { hint: `Put it back to resume. ${FRESH_HINT}` });
  }
}

async function afterFinish(job: CompiledJob, paths: JobPaths, found: Checkpoint, manifest: InputManifest, now: Date): Promise<Start> {
  const again = (): Start => go(newCheckpoint(job, paths, manifest, found.generation, now));
  if (compareManifests(found.manifest, manifest) !== null) return again();
  // The output was taken away: it is written again, from the ledger.
  if (!(await exists(paths.output))) return again();
  const reachedLimit = found.limit !== null && (found.result?.tally.total ?? 0) >= found.limit;
  if (!reachedLimit || (job.limits.limit ?? Infinity) === found.limit) return { kind: 'done', checkpoint: found };
  return { kind: 'go', checkpoint: { ...found, limit: job.limits.limit, state: 'running', finishedAt: null, exitCode: null, result: null }, resumed: true, reopen: true };
}

/** A pilot's output is the beginning of the whole: the run goes on in a copy, and the pilot stays in place until then. */
export async function reopenOutput(paths: JobPaths): Promise<void> {
  try {
    await copyFile(paths.output, partialPath(paths.output), constants.COPYFILE_FICLONE);
    if (await exists(paths.errors)) await copyFile(paths.errors, partialPath(paths.errors), constants.COPYFILE_FICLONE);
    else await rm(partialPath(paths.errors), { force: true });
  } catch (error) {
    throw new StorageError('output_failed', `${paths.output} could not be copied to go on from: ${(error as Error).message}`, { hint: 'Free the disk or mend the folder, then run the same command.', cause: error });
  }
}

async function changedSince(job: CompiledJob, paths: JobPaths, found: Checkpoint, signal: AbortSignal): Promise<string | null> {
  const spooled = found.manifest.files.find((file) => file.uri === '-');
  if (spooled === undefined || process.stdin.isTTY === true) return describeChange(found.manifest);
  // Standard input is given again by the same command; where nothing comes, the spool of the first run serves.
  const again = `${paths.spool}.new`;
  try {
    const manifest = await freezeJobInput(job, { ...paths, spool: again }, signal);
    if (manifest.files.every((file) => file.size === 0)) return await describeChange(found.manifest);
    const changed = compareManifests(found.manifest, manifest);
    if (changed === null) await rename(again, spooled.path);
    return changed;
  } finally {
    await rm(again, { force: true });
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
