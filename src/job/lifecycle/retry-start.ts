import { readCheckpoint, type Checkpoint, type FinishedOutput, type Retry } from '../../checkpoint/checkpoint-file.ts';
import { InputError } from '../../util/errors.ts';
import { Ledger } from '../../ledger/ledger.ts';
import { openRunLedger } from '../../ledger/open-run-ledger.ts';
import { silentTeller } from '../../ledger/options.ts';
import { isShared } from '../../definition/ledger-location.ts';
import type { InputManifest } from '../../formats/input-record.ts';
import { START_MARK, type ResumePoint } from '../../writer/resume-point.ts';
import { ROW_FILES, sizeOf } from '../../writer/row-files.ts';
import { leftToRetry } from '../../writer/tally.ts';
import { changedSince, readsStandardInput } from './frozen-input.ts';
import { ledgerRights } from './ledger-rights.ts';
import { jobLedger, type JobPaths } from './paths.ts';
import type { Start, StartOptions } from './start-decision.ts';
import {
  exists,
  unfinishedFlaw,
  FRESH_HINT,
  isUnchanged,
  ledgerExists,
  refuseChangedDefinition,
  refuseForeignCheckpoint,
} from './start-checks.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import { judgeFinished } from '../commands/exit-code.ts';
import { count } from '../../util/display.ts';
import { present } from '../../util/assert.ts';

const RUN_HINT = 'Run it to its end with millrace run, then retry.';

/**
 * Decides how a retry begins: anew on a finished job, or where an earlier one stopped. Changes nothing on disk, like
 * `decideStart`.
 * @throws InputError 65 when there is nothing finished to retry, or it is not what it was; ConfigError 78, StorageError 74
 */
export async function decideRetry(job: CompiledJob, paths: JobPaths, options: StartOptions): Promise<Start> {
  const found = await readCheckpoint(paths.checkpoint);
  if (found === null)
    throw new InputError('not_finished', `the job "${job.name}" has never run: there is no checkpoint at ${paths.checkpoint}`, {
      hint: `Give the flags that it was run with. ${RUN_HINT}`,
    });
  refuseForeignCheckpoint(job, paths, found);
  refuseChangedDefinition(job, paths, found);
  switch (found.state) {
    case 'finishing':
      return { kind: 'finish', checkpoint: found };
    case 'finished':
      return beginRetry(job, paths, found, options);
    case 'running':
    case 'stopped':
      if (found.retry === null)
        throw new InputError(
          'not_finished',
          `the job "${job.name}" is not finished: it stopped after ${count(found.mark.tally.total)} rows`,
          { hint: RUN_HINT },
        );
      return resumeRetry(paths, found, options);
    default:
      return found.state satisfies never;
  }
}

/** Resumes a retry that was stopped. */
export async function resumeRetry(paths: JobPaths, found: Checkpoint, options: StartOptions): Promise<Start> {
  const retry = present(found.retry, 'a retry is under way');
  const manifest = await unchangedInput(found, paths, options);
  await refuseChangedOutput(paths, retry.before.result);
  const flaw = await unfinishedFlaw(paths, found);
  const whole = flaw === null;
  const notice = whole ? null : `${flaw}: the retry writes its rows again`;
  const mark = whole ? found.mark : firstMark(found);
  return { kind: 'go', checkpoint: { ...found, manifest, mark }, isFirst: false, resumed: whole, reopen: false, notice };
}

/** The first resume point of a run: a shard begins at its part of the input, and a retry counts all rows from the start. */
export function firstMark({ retry, shard }: Checkpoint): ResumePoint {
  return retry === null ? { ...START_MARK, position: shard?.from ?? null } : { ...START_MARK, tally: retry.before.result.tally };
}

/** The job as it was before the retry began. */
export function beforeRetry(found: Checkpoint): Checkpoint {
  return found.retry === null ? found : { ...found, ...found.retry.before, state: 'finished', retry: null };
}

async function beginRetry(job: CompiledJob, paths: JobPaths, found: Checkpoint, options: StartOptions): Promise<Start> {
  const { mark, finishedAt, exitCode } = found;
  const result = present(found.result, 'a finished job has a result');
  if (leftToRetry(result.tally) === 0)
    return {
      kind: 'done',
      checkpoint: { ...found, ...judgeFinished(job, result.tally, found.previous) },
      because: 'nothing is left to retry: nothing was called',
    };
  const manifest = await unchangedInput(found, paths, options);
  await refuseChangedOutput(paths, result);
  const retry = { before: { mark, result, finishedAt, exitCode }, ...(await ledgerNow(job, paths, found)) };
  const checkpoint: Checkpoint = {
    ...found,
    manifest,
    retry,
    generation: found.generation + 1,
    state: 'stopped',
    finishedAt: null,
    exitCode: null,
    result: null,
    mark: { ...START_MARK, tally: result.tally },
  };
  return { kind: 'go', checkpoint, isFirst: false, resumed: false, reopen: false, notice: await withoutLedger(job, paths) };
}

async function unchangedInput(found: Checkpoint, paths: JobPaths, options: StartOptions): Promise<InputManifest> {
  const { manifest, changed } = await changedSince(found.manifest, paths, options.signal);
  if (changed === null) return manifest;
  const again = readsStandardInput(found.manifest) ? 'Give the same input on standard input again' : 'Put the input back as it was';
  throw new InputError('input_changed', `the input is not what the job has read: ${changed}`, {
    hint: `${again} to retry. millrace run takes a changed input as a new run.`,
  });
}

/** A retry keeps rows of the output, and the files beside it say which records to ask for: all must be as this job wrote them. */
async function refuseChangedOutput(paths: JobPaths, result: FinishedOutput): Promise<void> {
  for (const which of ROW_FILES) {
    const path = paths[which];
    if (which !== 'output' && sizeOf(result, which) === 0) continue;
    if (!(await exists(path))) {
      const hint =
        which === 'output'
          ? 'Put it back; or write it again with millrace run, from the ledger, and then retry.'
          : `It says which records ${which === 'open' ? 'lack a field' : 'failed'}: put it back to retry. ${FRESH_HINT}`;
      throw new InputError('output_missing', `${path} is gone`, { hint });
    }
    if (!(await isUnchanged(paths, which, result))) {
      throw new InputError('output_not_ours', `${path} is no longer as this job wrote it`, {
        hint: `Put it back as it was to retry. ${FRESH_HINT}`,
      });
    }
  }
}

async function ledgerNow(job: CompiledJob, paths: JobPaths, found: Checkpoint): Promise<Pick<Retry, 'failedUpTo' | 'forgotten'>> {
  const { lookups } = found.totals;
  const rights = ledgerRights(job, found);
  if (!(await ledgerExists(job, paths))) return { failedUpTo: 0, forgotten: lookups };
  const ledger = isShared(job.ledger.uri)
    ? await openRunLedger(jobLedger(job, paths), { ...rights, tell: silentTeller })
    : Ledger.open({ ...rights, path: paths.ledger, readOnly: true });
  try {
    const known = ledger.totals();
    return {
      failedUpTo: ledger.lastAnswer(),
      forgotten: { unique: Math.max(0, lookups.unique - known.lookups), fromLedger: Math.max(0, lookups.fromLedger - known.reused) },
    };
  } finally {
    await ledger.close();
  }
}

async function withoutLedger(job: CompiledJob, paths: JobPaths): Promise<string | null> {
  if (job.steps.length === 1 || (await ledgerExists(job, paths))) return null;
  return (
    `the ledger ${paths.ledger} is gone: records that failed after their ` +
    'first step are asked for from the first step on; no row loses what it has'
  );
}
