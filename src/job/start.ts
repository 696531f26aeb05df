import { randomUUID } from 'node:crypto';
import { DAMAGED, generationAfterDamage, readCheckpoint, type Checkpoint } from '../checkpoint/checkpoint-file.ts';
import type { Fence } from '../checkpoint/fence.ts';
import { ConfigError, InputError, MillraceError, StorageError, storageHint } from '../errors.ts';
import { compareManifests } from '../reader/freeze.ts';
import type { InputManifest } from '../reader/types.ts';
import { addressIn } from './changed-definition.ts';
import { storageOf } from '../storage/storages.ts';
import { keptFiles, START_MARK, type Mark } from '../writer/mark.ts';
import { changedSince, freezeJobInput, readsStandardInput, spooledBytes } from './frozen-input.ts';
import { CHECKPOINT_SUFFIX } from './definition/compile-job.ts';
import type { JobPaths } from './paths.ts';
import { beforeRetry, firstMark, resumeRetry } from './retry-start.ts';
import { isSamePlace } from './same-place.ts';
import { exists, flawOf, FRESH_HINT, isUnchanged, ledgerExists, refuseChangedDefinition, refuseForeignCheckpoint, refuseOthersOutput } from './start-checks.ts';
import type { CompiledJob } from './types.ts';
import { NO_WAITS } from './wait-log.ts';

/** How a run begins. */
export type Start =
  /**
   * From the beginning, or where it stopped. `isFirst`: there was no checkpoint. `reopen`: a finished pilot goes on, see `reopenOutput`.
   * `notice`: what the user should know.
   */
  | { readonly kind: 'go'; readonly checkpoint: Checkpoint; readonly isFirst: boolean; readonly resumed: boolean; readonly reopen: boolean; readonly notice: string | null }
  /** The rows are all written; only the last renames are missing. */
  | { readonly kind: 'finish'; readonly checkpoint: Checkpoint }
  /** Finished before, and there is nothing to do. `because`: what the user is told. */
  | { readonly kind: 'done'; readonly checkpoint: Checkpoint; readonly because: string };

export interface StartOptions {
  readonly fresh: boolean;
  /** Of a run in shards that was given up for this one: no checkpoint says it. */
  readonly generationBefore?: number;
  readonly now: () => Date;
  readonly signal: AbortSignal;
}

/**
 * Decides from the checkpoint, the output and the input how this run begins. Changes nothing on disk, but for standard
 * input, which lies aside until `adoptSpool`.
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
 * Of a changed job whose input is missing, or lacks a column, both is said: it is most likely mistyped.
 * @throws ConfigError 78
 */
async function refuseChanges(job: CompiledJob, paths: JobPaths, before: Checkpoint, signal: AbortSignal): Promise<void> {
  try {
    refuseChangedDefinition(job, paths, before);
  } catch (error) {
    if (!(error instanceof ConfigError) || job.input.uris.includes('-')) throw error;
    const flaw = await freezeJobInput(job, paths, signal).then(() => null, (failure: unknown) => failure);
    if (!(flaw instanceof InputError)) throw error;
    throw new ConfigError(error.code, `${error.message}. ${flaw.message}`, { hint: [flaw.hint, error.hint].filter((hint) => hint !== undefined).join(' '), cause: error });
  }
}

/**
 * `--fresh` starts over a job whose checkpoint is damaged. That the files are this job's cannot be read from it any more:
 * its name says it, where that is the output's with a suffix.
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

/** A generation that no run of this job has had. @param before of its checkpoint: 0 for none, null for a damaged one */
async function nextGeneration(before: number | null, paths: JobPaths, { fresh, generationBefore = 0, now }: StartOptions): Promise<number> {
  // Readable shards have been removed, and their generation is known. What is left is damaged.
  const isKnown = before !== null && !(fresh && (await exists(paths.shards)));
  const most = Math.max(before ?? 0, generationBefore);
  return isKnown ? most + 1 : generationAfterDamage(most, now());
}

/** The checkpoint, and what else stands in the way of a new run. */
async function leftOf(paths: JobPaths): Promise<string[]> {
  const left = [paths.checkpoint];
  for (const path of [paths.output, paths.errors, paths.report, paths.reportPage]) {
    if (await exists(path)) left.push(path);
    const unfinished = await (await storageOf(path)).unfinished(path);
    if (unfinished !== null) left.push(unfinished);
  }
  return left;
}

/** From the beginning, whatever there was before. */
export async function freshStart(job: CompiledJob, paths: JobPaths, options: Pick<StartOptions, 'now' | 'signal'>, generation = 1): Promise<Start & { kind: 'go' }> {
  return go(newCheckpoint(job, paths, await freezeJobInput(job, paths, options.signal), generation, options.now()));
}

export function go(checkpoint: Checkpoint): Start & { kind: 'go' } {
  return { kind: 'go', checkpoint, isFirst: false, resumed: false, reopen: false, notice: null };
}

export function newCheckpoint(job: CompiledJob, paths: JobPaths, manifest: InputManifest, generation: number, now: Date, shard: Checkpoint['shard'] = null): Checkpoint {
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
    mark: { ...START_MARK, position: shard?.from ?? null },
    totals: { calls: {}, lookups: { unique: 0, fromLedger: 0 }, retries: 0, throttled: { events: 0, waitedMs: 0 }, waits: NO_WAITS, beyondPlan: 0, credits: 0, latency: {}, activeMs: 0 },
    trusted: false,
    answered: false,
    spent: null,
    result: null,
    callsAtMost: 0,
    retry: null,
    shard,
  };
}

/** Of a job that has never begun no file is touched before it is known not to be another job's. @throws InputError 65 */
export async function refuseOthersFiles(paths: JobPaths): Promise<void> {
  if (!(await exists(paths.checkpoint)) && !(await exists(paths.shards))) await refuseForeignOutput(paths);
}

/** @throws InputError 65 */
export async function refuseForeignOutput(paths: JobPaths): Promise<void> {
  for (const path of [paths.output, paths.errors, paths.report, paths.reportPage]) {
    const there = (await exists(path)) ? path : await (await storageOf(path)).unfinished(path);
    if (there !== null) {
      throw new InputError('output_not_ours', `${there} exists, and there is no checkpoint (${paths.checkpoint}) that says it is this job's`, { hint: 'Move it away, or name another output.' });
    }
  }
}

/** A corrected address is the job's from now on. What another service has said of its quota is not this one's. */
export function withAddress(job: CompiledJob, found: Checkpoint): Checkpoint {
  const fingerprint = { ...found.fingerprint, ...addressIn(job.fingerprint) };
  return JSON.stringify(fingerprint) === JSON.stringify(found.fingerprint) ? found : { ...found, fingerprint, spent: null };
}

export async function resume(job: CompiledJob, paths: JobPaths, found: Checkpoint, options: StartOptions): Promise<Start> {
  const { manifest, changed } = await changedSince(found.manifest, paths, options.signal);
  if (changed !== null) throw new InputError('input_changed', `the input changed while the job was under way: ${changed}`, { hint: `Put the input back as it was to resume. ${FRESH_HINT}` });
  const checkpoint = { ...found, manifest, limit: job.limits.limit };
  const flaw = await flawOf(paths, found);
  if (flaw === null) return { ...go(checkpoint), resumed: true };
  const notice = `${flaw}: its rows are written again, ${await fromWhat(job, paths)}`;
  return { ...go({ ...checkpoint, mark: firstMark(found) }), notice };
}

/** A job whose retry was stopped is finished all the same: what it would do now goes first, and if there is nothing the retry goes on. */
async function besideRetry(job: CompiledJob, paths: JobPaths, found: Checkpoint, options: StartOptions): Promise<Start> {
  const start = await afterFinish(job, paths, beforeRetry(found), options);
  if (start.kind === 'done') return resumeRetry(paths, found, options);
  if (start.kind !== 'go' || !start.reopen || !(await ledgerExists(job, paths))) return start;
  // The retry was told more than the pilot's rows say: gone on with, they would differ from later ones of the same key.
  return { ...go({ ...start.checkpoint, mark: firstMark(start.checkpoint) }), notice: 'the retry that was under way is given up: all rows are written again, with what it was told, from the ledger' };
}

async function afterFinish(job: CompiledJob, paths: JobPaths, found: Checkpoint, options: StartOptions): Promise<Start> {
  const done: Start = { kind: 'done', checkpoint: found, because: 'this job had finished, and its input has not changed: nothing was called' };
  const outputThere = await exists(paths.output);
  // A terminal gives nothing, and an empty pipe is no new input: a whole output is not replaced by nothing.
  if (outputThere && readsStandardInput(found.manifest) && process.stdin.isTTY) return done;
  const manifest = await freezeJobInput(job, paths, options.signal);
  if (outputThere && spooledBytes(manifest) === 0 && spooledBytes(found.manifest) > 0) return { ...done, because: 'this job had finished, and standard input was empty: its output is kept, and nothing was called' };
  if (outputThere && manifest.files.length === 0 && found.manifest.files.length > 0) return { ...done, because: 'this job had finished, and nothing matches its input now: its output is kept, and nothing was called' };
  if (compareManifests(found.manifest, manifest) !== null) return go(newCheckpoint(job, paths, manifest, found.generation, options.now()));
  return goOnAfterFinish(job, paths, { ...found, manifest }, done);
}

/** What is still to be done of a job that has finished, and whose input is what it was; `done` where there is nothing. */
export async function goOnAfterFinish(job: CompiledJob, paths: JobPaths, found: Checkpoint, done: Start): Promise<Start> {
  const unfinished: Checkpoint = { ...found, limit: job.limits.limit, state: 'stopped', finishedAt: null, exitCode: null, result: null };
  // The output was taken away: it is written again, by the same run and so from the ledger alone, where there is one.
  if (!(await exists(paths.output))) return { ...go({ ...unfinished, mark: firstMark(unfinished) }), notice: `the output ${paths.output} is gone: it is written again, ${await fromWhat(job, paths)}` };
  const reachedLimit = found.limit !== null && (found.result?.tally.total ?? 0) >= found.limit;
  if (!reachedLimit || (job.limits.limit ?? Infinity) === found.limit) return done;
  if (found.result === null || !(await isUnchanged(paths, 'output', found.result))) {
    throw new InputError('output_not_ours', `${paths.output} is no longer as this job wrote it, so its rows cannot be added to`, { hint: 'Move it away and run the same command: all of it is written again, and nothing is paid twice.' });
  }
  if (!(await exists(paths.errors)) && (found.result.errorBytes ?? 0) > 0) {
    return { ...go({ ...unfinished, mark: firstMark(unfinished) }), notice: `the errors file ${paths.errors} is gone: all rows are written again, ${await fromWhat(job, paths)}` };
  }
  return { ...go(unfinished), resumed: true, reopen: true };
}

/**
 * A pilot's output is the beginning of the whole: the run goes on in a copy, and the pilot stays in place until then.
 * @returns the pilot's mark, with what must be kept of the copy. @throws StorageError, or 75 when the job was lost
 */
export async function reopenOutput(paths: JobPaths, { kept: before, ...mark }: Mark, fence: Fence): Promise<Mark> {
  try {
    const output = await (await storageOf(paths.output)).reopen(paths.output, mark.bytes, before?.output?.sha, fence);
    const errors = await (await storageOf(paths.errors)).reopen(paths.errors, mark.errorBytes, before?.errors?.sha, fence);
    return { ...mark, ...keptFiles(output, errors) };
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    throw new StorageError('output_failed', `${paths.output} could not be copied to go on from: ${(error as Error).message}`, { hint: storageHint(error), cause: error });
  }
}

async function fromWhat(job: CompiledJob, paths: JobPaths): Promise<string> {
  return (await ledgerExists(job, paths)) ? 'from the ledger' : `and everything is asked for again, because the ledger ${paths.ledger} is gone too`;
}
