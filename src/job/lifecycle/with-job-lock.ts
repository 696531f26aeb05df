import type { CompiledJob } from '../../definition/compiled-job.ts';
import { LEASE_MS } from '../../lock/holder.ts';
import { JobLock } from '../../lock/job-lock.ts';
import { storageOf } from '../../storage/storage-of.ts';
import { runScope } from '../../util/run-scope.ts';
import type { StopSignals } from '../../util/stop-signals.ts';
import { growingFiles, renamedFiles, type JobPaths } from './paths.ts';
import type { RunMessages } from '../progress/run-messages.ts';

export interface LockingOptions {
  readonly signals: StopSignals;
  readonly reporter: Pick<RunMessages, 'warn'>;
  /** Waits for as long as the other run lives; otherwise for one lease. */
  readonly untilReleased?: boolean;
  /** Runs under the lock, before a file is touched. */
  readonly before?: () => Promise<void>;
}

/** A job whose lock this process has: nothing is written that the lock does not cover. */
export interface HeldJob {
  readonly job: CompiledJob;
  readonly paths: JobPaths;
  readonly lock: JobLock;
}

/**
 * Does the work under the job lock, so that no other run changes the job's files meanwhile.
 * The work gets signals that include the loss of the lock: this is the one place that combines them.
 * @throws what the work throws; MillraceError 75 when another run holds the job or has taken it over, StorageError
 */
export async function withJobLock<T>(
  paths: JobPaths,
  { signals, reporter, untilReleased = false, before }: LockingOptions,
  work: (lock: JobLock, signals: StopSignals) => Promise<T>,
): Promise<T> {
  const lost = new AbortController();
  let leave = (): void => undefined;
  const lock = await JobLock.acquire({
    path: paths.lock,
    now: Date.now,
    monotonicNow: () => performance.now(),
    signal: signals.drain,
    untilReleased,
    onWait: (holder) => {
      leave = runScope().waits.enter({
        reason: 'lock',
        what: `the run that holds this job (process ${holder.pid} on ${holder.host})`,
        untilMs: untilReleased ? null : performance.now() + LEASE_MS,
      });
      reporter.warn(
        'job_held',
        `another run holds this job (process ${holder.pid} on ${holder.host}, ` +
          `since ${holder.since}): waiting ${untilReleased ? 'for it' : 'one lease'}`,
      );
    },
    onLost: (error) => lost.abort(error),
    onWeak: (message) => reporter.warn('weak_lock', message),
  }).finally(() => leave());
  try {
    await before?.();
    await takePossession(paths, lock);
    return await work(lock, {
      drain: AbortSignal.any([signals.drain, lost.signal]),
      abort: AbortSignal.any([signals.abort, lost.signal]),
    });
  } catch (error) {
    // Files that another run has moved are no fault of the disk.
    throw (await lock.loss()) ?? error;
  } finally {
    await lock.release();
  }
}

/** Revokes writes that an earlier run has begun, so that none reaches the job's files. @throws StorageError, or 75 when the job was lost */
async function takePossession(paths: JobPaths, lock: JobLock): Promise<void> {
  for (const path of renamedFiles(paths)) await (await storageOf(path)).sweep(path, lock);
  if (!lock.previousHolderMayReturn) return;
  for (const path of growingFiles(paths)) await (await storageOf(path)).revokeUnfinished(path, lock);
  await (await storageOf(paths.checkpoint)).revokeText(paths.checkpoint, lock);
  await lock.filesReplaced();
}
