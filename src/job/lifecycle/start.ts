import { go, type Start, type StartOptions } from './start-decision.ts';
import { newCheckpoint } from './new-checkpoint.ts';
import { DAMAGED, readCheckpoint, type Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import { firstGeneration } from './idempotency-keys.ts';
import type { Fence } from '../../storage/fence.ts';
import { ConfigError, InputError, MillraceError, StorageError, storageHint } from '../../util/errors.ts';
import { compareManifests } from '../../reader/freeze.ts';
import { serviceAddressIn } from './changed-definition.ts';
import { SIDE_FILES } from '../../definition/output-shape.ts';
import { storageOf } from '../../storage/storage-of.ts';
import type { ResumePoint } from '../../writer/resume-point.ts';
import { resumeStates, ROW_FILES, sizeOf, type RowFile } from '../../writer/row-files.ts';
import type { ResumeState } from '../../storage/storage.ts';
import { changedSince, freezeJobInput, readsStandardInput, spooledBytes } from './frozen-input.ts';
import { CHECKPOINT_SUFFIX } from '../../definition/compile-job.ts';
import { lostAnswers, refuseLostFolder } from './lost-files.ts';
import { growingFiles, type JobPaths } from './paths.ts';
import { beforeRetry, firstMark, resumeRetry } from './retry-start.ts';
import { isSamePlace } from '../../util/files/same-place.ts';
import {
  exists,
  unfinishedFlaw,
  FRESH_HINT,
  isUnchanged,
  ledgerExists,
  refuseChangedDefinition,
  refuseForeignCheckpoint,
  refuseOthersOutput,
} from './start-checks.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';

/**
 * Decides from the checkpoint, the output and the input how this run begins. Changes nothing on disk except the copy of standard input,
 * which gets its name by `adoptSpool`.
 * @throws InputError 65, ConfigError 78, StorageError 74
 */
export async function decideStart(job: CompiledJob, paths: JobPaths, options: StartOptions): Promise<Start> {
  const before = await readCheckpoint(paths.checkpoint).catch((error: unknown) => damagedOr(error, paths, options));
  if (before === 'damaged') return freshStart(job, paths, options, await nextGeneration(null, paths, options));
  if (before === null) {
    await refuseForeignOutput(paths);
    return { ...(await freshStart(job, paths, options, await nextGeneration(0, paths, options))), isFirst: true };
  }
  refuseForeignCheckpoint(job, paths, before);
  if (options.fresh) {
    refuseOthersOutput(job, paths, before);
    const isFirst = !isSamePlace(before.output, paths.output);
    if (isFirst) await refuseForeignOutput(paths);
    return { ...(await freshStart(job, paths, options, await nextGeneration(before.generation, paths, options))), isFirst };
  }
  await refuseChanges(job, paths, before, options.signal);
  const found = withAddress(job, before);
  switch (found.state) {
    case 'finishing':
      return { kind: 'finish', checkpoint: found };
    case 'finished':
      return afterFinish(job, paths, found, options);
    case 'running':
    case 'stopped':
      return found.retry === null ? resume(job, paths, found, options) : besideRetry(job, paths, found, options);
    default:
      return found.state satisfies never;
  }
}

/**
 * When the input of a changed job is missing, or lacks a column, the error names both: the command is most likely mistyped.
 * @throws ConfigError 78
 */
async function refuseChanges(job: CompiledJob, paths: JobPaths, before: Checkpoint, signal: AbortSignal): Promise<void> {
  try {
    refuseChangedDefinition(job, paths, before);
  } catch (error) {
    if (!(error instanceof ConfigError) || job.input.uris.includes('-')) throw error;
    const flaw = await freezeJobInput(job, paths, signal).then(
      () => null,
      (failure: unknown) => failure,
    );
    if (!(flaw instanceof InputError)) throw error;
    throw new ConfigError(error.code, `${error.message}. ${flaw.message}`, {
      hint: [flaw.hint, error.hint].filter((hint) => hint !== undefined).join(' '),
      cause: error,
    });
  }
}

/**
 * `--fresh` starts over a job whose checkpoint is damaged. A damaged checkpoint cannot show that the files are this job's. Its name shows
 * it, where it is the output's name with a suffix.
 * @throws the error that the checkpoint was read with, in any other case
 */
async function damagedOr(error: unknown, paths: JobPaths, { fresh }: StartOptions): Promise<'damaged'> {
  if (!(error instanceof InputError)) throw error;
  const isNamedAfter = paths.checkpoint === `${paths.output}${CHECKPOINT_SUFFIX}`;
  if (fresh && error.code === DAMAGED && isNamedAfter) return 'damaged';
  if (error.code !== 'checkpoint_invalid' && (error.code !== DAMAGED || isNamedAfter)) throw error;
  const left = (await leftOf(paths)).join(', ');
  const hint = `Name another output or checkpoint. To start this job over, move away ${left}; what was paid for stays in the ledger.`;
  throw new InputError(error.code, error.message, { hint, cause: error });
}

/** A generation that no run of this job has had. @param before the checkpoint's; 0 without a checkpoint, null for a damaged one */
async function nextGeneration(before: number | null, paths: JobPaths, { fresh, generationBefore = 0, now }: StartOptions): Promise<number> {
  // Readable shard plans have been removed, and their generation is known. A plan that is left is damaged.
  const isKnown = before !== null && !(fresh && (await exists(paths.shards)));
  const most = Math.max(before ?? 0, generationBefore);
  return isKnown && most > 0 ? most + 1 : Math.max(most + 1, firstGeneration(now()));
}

/** The checkpoint, and the other files that stand in the way of a new run. */
async function leftOf(paths: JobPaths): Promise<string[]> {
  const left = [paths.checkpoint];
  for (const path of resultFiles(paths)) {
    if (await exists(path)) left.push(path);
    const unfinished = await (await storageOf(path)).unfinished(path);
    if (unfinished !== null) left.push(unfinished);
  }
  return left;
}

/** A start from the beginning, without regard to earlier runs. */
export async function freshStart(
  job: CompiledJob,
  paths: JobPaths,
  options: Pick<StartOptions, 'now' | 'signal'>,
  generation = firstGeneration(options.now()),
): Promise<Start & { kind: 'go' }> {
  return go(newCheckpoint(job, paths, await freezeJobInput(job, paths, options.signal), generation, options.now()));
}

/** Refuses files that another job may own, before a job that never began touches them. @throws InputError 65 */
export async function refuseOthersFiles(paths: JobPaths): Promise<void> {
  if (!(await exists(paths.checkpoint)) && !(await exists(paths.shards))) await refuseForeignOutput(paths);
}

/** @throws InputError 65 */
export async function refuseForeignOutput(paths: JobPaths): Promise<void> {
  for (const path of resultFiles(paths)) {
    const there = (await exists(path)) ? path : await (await storageOf(path)).unfinished(path);
    if (there !== null) {
      throw new InputError(
        'output_not_ours',
        `${there} exists, and there is no checkpoint (${paths.checkpoint}) that says it is this job's`,
        { hint: 'Move it away, or name another output.' },
      );
    }
  }
}

function resultFiles(paths: JobPaths): string[] {
  return [...growingFiles(paths), paths.report, paths.reportPage];
}

/** A corrected address is the job's from now on. The quota of the other service is forgotten. */
export function withAddress(job: CompiledJob, found: Checkpoint): Checkpoint {
  const fingerprint = { ...found.fingerprint, ...serviceAddressIn(job.fingerprint) };
  return JSON.stringify(fingerprint) === JSON.stringify(found.fingerprint) ? found : { ...found, fingerprint, spent: null };
}

export async function resume(job: CompiledJob, paths: JobPaths, found: Checkpoint, options: StartOptions): Promise<Start> {
  const { manifest, changed } = await changedSince(found.manifest, paths, options.signal);
  if (changed !== null)
    throw new InputError('input_changed', `the input changed while the job was under way: ${changed}`, {
      hint: `Put the input back as it was to resume. ${FRESH_HINT}`,
    });
  const checkpoint = { ...found, manifest, limit: job.limits.limit };
  await refuseLostFolder(paths, found);
  const flaw = await unfinishedFlaw(paths, found);
  if (flaw === null) {
    const lost = await lostAnswers(job, paths, found);
    return { ...go(checkpoint), resumed: true, ...(lost === null ? {} : { notice: lost }) };
  }
  const notice = `${flaw}: its rows are written again, ${await fromWhat(job, paths)}`;
  return { ...go({ ...checkpoint, mark: firstMark(found) }), notice };
}

/** A job with a stopped retry is finished. Its own next action comes first; without one, the retry is resumed. */
async function besideRetry(job: CompiledJob, paths: JobPaths, found: Checkpoint, options: StartOptions): Promise<Start> {
  const start = await afterFinish(job, paths, beforeRetry(found), options);
  if (start.kind === 'done') return resumeRetry(paths, found, options);
  if (start.kind !== 'go' || !start.reopen || !(await ledgerExists(job, paths))) return start;
  // The retry has newer answers than the pilot's rows: the pilot's and later rows of one key would differ.
  return {
    ...go({ ...start.checkpoint, mark: firstMark(start.checkpoint) }),
    notice: 'the retry that was under way is given up: all rows are written again, with what it was told, from the ledger',
  };
}

async function afterFinish(job: CompiledJob, paths: JobPaths, found: Checkpoint, options: StartOptions): Promise<Start> {
  const done: Start = {
    kind: 'done',
    checkpoint: found,
    because: 'this job had finished, and its input has not changed: nothing was called',
  };
  const outputThere = await exists(paths.output);
  // A terminal gives no input, and an empty pipe is not a new input: neither replaces a finished output.
  if (outputThere && readsStandardInput(found.manifest) && process.stdin.isTTY) return done;
  const manifest = await freezeJobInput(job, paths, options.signal);
  if (outputThere && spooledBytes(manifest) === 0 && spooledBytes(found.manifest) > 0)
    return { ...done, because: 'this job had finished, and standard input was empty: its output is kept, and nothing was called' };
  if (outputThere && manifest.files.length === 0 && found.manifest.files.length > 0)
    return { ...done, because: 'this job had finished, and nothing matches its input now: its output is kept, and nothing was called' };
  if (compareManifests(found.manifest, manifest) !== null)
    return go(newCheckpoint(job, paths, manifest, found.generation + 1, options.now()));
  return goOnAfterFinish(job, paths, { ...found, manifest }, done);
}

/** The next action of a finished job with an unchanged input; `done` when there is none. */
export async function goOnAfterFinish(job: CompiledJob, paths: JobPaths, found: Checkpoint, done: Start): Promise<Start> {
  const unfinished: Checkpoint = { ...found, limit: job.limits.limit, state: 'stopped', finishedAt: null, exitCode: null, result: null };
  // The output is gone: the same run writes it again, from the ledger alone where there is one.
  if (!(await exists(paths.output)))
    return {
      ...go({ ...unfinished, mark: firstMark(unfinished) }),
      notice: `the output ${paths.output} is gone: it is written again, ${await fromWhat(job, paths)}`,
    };
  const reachedLimit = found.limit !== null && (found.result?.tally.total ?? 0) >= found.limit;
  if (!reachedLimit || (job.limits.limit ?? Infinity) === found.limit) return done;
  if (found.result === null || !(await isUnchanged(paths, 'output', found.result))) {
    throw new InputError('output_not_ours', `${paths.output} is no longer as this job wrote it, so its rows cannot be added to`, {
      hint: 'Move it away and run the same command: all of it is written again, and nothing is paid twice.',
    });
  }
  for (const which of SIDE_FILES) {
    if (sizeOf(found.result, which) === 0 || (await exists(paths[which]))) continue;
    return {
      ...go({ ...unfinished, mark: firstMark(unfinished) }),
      notice: `${paths[which]} is gone: all rows are written again, ${await fromWhat(job, paths)}`,
    };
  }
  return { ...go(unfinished), resumed: true, reopen: true };
}

/**
 * A pilot's output is the beginning of the full output. The run continues in a copy, and the pilot stays in place until the end.
 * @returns the pilot's resume point, with the resume state of the copy. @throws StorageError, or 75 when the job was lost
 */
export async function reopenOutput(paths: JobPaths, { kept: before, ...mark }: ResumePoint, fence: Fence): Promise<ResumePoint> {
  try {
    const states: Partial<Record<RowFile, ResumeState | undefined>> = {};
    for (const which of ROW_FILES) {
      const path = paths[which];
      states[which] = await (await storageOf(path)).reopen(path, sizeOf(mark, which), before?.[which]?.sha, fence);
    }
    return { ...mark, ...resumeStates(states) };
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    throw new StorageError('output_failed', `${paths.output} could not be copied to go on from: ${(error as Error).message}`, {
      hint: storageHint(error),
      cause: error,
    });
  }
}

async function fromWhat(job: CompiledJob, paths: JobPaths): Promise<string> {
  return (await ledgerExists(job, paths))
    ? 'from the ledger'
    : `and everything is asked for again, because the ledger ${paths.ledger} is gone too`;
}
