/** Holding a job: nobody else changes its files meanwhile, and nothing that another run still has in hand gets into them. */
import { LEASE_MS } from '../checkpoint/holder.ts';
import { JobLock } from '../checkpoint/job-lock.ts';
import { storageOf } from '../storage/storages.ts';
import { waits } from '../waits.ts';
import { namedFiles, type JobPaths } from './paths.ts';
import type { Reporter } from './reporter.ts';

export interface HoldOptions {
  readonly signal: AbortSignal;
  readonly reporter: Pick<Reporter, 'warn'>;
  /** Waits for as long as whoever holds the job is alive, and not for one lease only. */
  readonly patient?: boolean;
  /** Done before a file is touched. */
  readonly before?: () => Promise<void>;
}

/**
 * Does the work while the job is ours. `lost` is aborted when it no longer is.
 * @throws what the work throws; MillraceError 75 when another run holds the job or has taken it over, StorageError
 */
export async function holdJob<T>(paths: JobPaths, { signal, reporter, patient = false, before }: HoldOptions, work: (lock: JobLock, lost: AbortSignal) => Promise<T>): Promise<T> {
  const lost = new AbortController();
  let leave = (): void => undefined;
  const lock = await JobLock.acquire({
    path: paths.lock,
    now: Date.now,
    monotonicNow: () => performance.now(),
    signal,
    patient,
    onWait: (holder) => {
      leave = waits.enter({ reason: 'lock', what: `the run that holds this job (process ${holder.pid} on ${holder.host})`, untilMs: patient ? null : performance.now() + LEASE_MS });
      reporter.warn('job_held', `another run holds this job (process ${holder.pid} on ${holder.host}, since ${holder.since}): waiting ${patient ? 'for it' : 'one lease'}`);
    },
    onLost: (error) => lost.abort(error),
    onWeak: (message) => reporter.warn('weak_lock', message),
  }).finally(() => leave());
  try {
    await before?.();
    await takePossession(paths, lock);
    return await work(lock, lost.signal);
  } catch (error) {
    // Files that another run has put in place or taken away are no fault of the disk.
    throw (await lock.loss()) ?? error;
  } finally {
    await lock.release();
  }
}

/** Nothing that another run still has in hand gets into the job's files from here on. @throws StorageError, or 75 when the job was lost */
async function takePossession(paths: JobPaths, lock: JobLock): Promise<void> {
  for (const path of namedFiles(paths)) await (await storageOf(path)).sweep(path, lock);
  if (!lock.tookOverFromUnknown) return;
  for (const path of [paths.output, paths.errors]) await (await storageOf(path)).shutOutOfFile(path, lock);
  await (await storageOf(paths.checkpoint)).shutOutOfText(paths.checkpoint, lock);
  await lock.filesReplaced();
}
