import { fstatSync, statSync } from 'node:fs';
import { mkdir, stat, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EXIT, MillraceError } from '../errors.ts';
import { isAt, temporaryName, type Fence } from './fence.ts';
import { isDead, isStale, LEASE_MS, lockFailed, ourselves, readHolder, readHolderNow, type Holder } from './holder.ts';
import { succeed, sweepLock, takeAway, tryCreate } from './lock-file.ts';

const RENEW_EVERY_MS = 10_000;
const LOOK_EVERY_MS = 500;
/** The same, for a lock that is gone when it is read. */
const GONE_MS = 10;

export interface LockOptions {
  readonly path: string;
  /** Epoch milliseconds, for others to read. */
  readonly now: () => number;
  /** Milliseconds of a clock that nobody sets: what is waited is measured by it. */
  readonly monotonicNow: () => number;
  /** Called once when the job is held by somebody alive and this run begins to wait. */
  readonly onWait?: (holder: Holder) => void;
  /** The lease was lost: nothing may be written any more. */
  readonly onLost: (error: MillraceError) => void;
  readonly signal?: AbortSignal;
}

/**
 * The job's lock: a lease in a file. A dead holder on this machine is noticed at once; any other holder is given one
 * lease to renew or to go away.
 */
export class JobLock implements Fence {
  readonly #options: LockOptions;
  readonly #file: FileHandle;
  #holder: Holder;
  #timer: NodeJS.Timeout | null = null;
  #renewing: Promise<void> = Promise.resolve();
  #loss: MillraceError | null = null;

  private constructor(options: LockOptions, file: FileHandle, holder: Holder) {
    this.#options = options;
    this.#file = file;
    this.#holder = holder;
    this.#timer = setInterval(() => {
      this.#renewing = this.#renewing.then(() => this.#renew());
    }, RENEW_EVERY_MS);
    this.#timer.unref();
  }

  /** @throws MillraceError 75 when another run holds the job, StorageError when the file cannot be written */
  static async acquire(options: LockOptions): Promise<JobLock> {
    await makeFolder(options.path);
    const { file, holder } = await enter(options);
    await sweepLock(options.path, options.now());
    return new JobLock(options, file, holder);
  }

  /**
   * A holder before did not let go by itself, and may come back: its open files must not be shared. True until
   * `filesReplaced`, also for whoever comes after a run that was killed before it.
   */
  get tookOverFromUnknown(): boolean {
    return this.#holder.overtook;
  }

  /** No file of the job is one that a holder before may have open. @throws StorageError */
  async filesReplaced(): Promise<void> {
    this.#holder = { ...this.#holder, overtook: false };
    try {
      await this.#write();
      await this.#file.datasync();
    } catch (error) {
      throw lockFailed(this.#options.path, 'written', error);
    }
  }

  temporary(path: string): string {
    return temporaryName(path, this.#holder.nonce);
  }

  /** Whether the lock is still this run's. @throws MillraceError 75 when it is not, StorageError when the disk does not say */
  async check(): Promise<void> {
    const { path } = this.#options;
    let ours: boolean;
    try {
      ours = await isAt(this.#file, path);
      // Where the folder is gone, nobody has taken anything over.
      if (!ours) await stat(dirname(path));
    } catch (error) {
      throw lockFailed(path, 'read', error);
    }
    if (!ours) throw this.#lost(await readHolder(path).catch(() => null));
  }

  /** That the job was lost, if it was: what another failure may come from. */
  async loss(): Promise<MillraceError | null> {
    await this.check().catch(() => undefined);
    return this.#loss;
  }

  /** The same, for where one cannot wait: inside a transaction. */
  readonly checkNow = (): void => {
    const { path } = this.#options;
    let ours: boolean;
    try {
      const there = statSync(path, { throwIfNoEntry: false });
      const { ino, dev } = fstatSync(this.#file.fd);
      ours = there?.ino === ino && there.dev === dev;
      if (!ours) statSync(dirname(path));
    } catch (error) {
      throw lockFailed(path, 'read', error);
    }
    if (!ours) throw this.#lost(readHolderNow(path));
  };

  /** Lets go, if it is still ours. Never throws. */
  async release(): Promise<void> {
    this.#stopRenewing();
    await this.#renewing;
    const ours = await this.check().then(() => true, () => false);
    // With files that may be shared it stays, as a dead holder's, for the next run to know.
    if (ours && !this.#holder.overtook) await takeAway(this.#options.path, this.#holder.nonce).catch(() => undefined);
    await this.#file.close().catch(() => undefined);
  }

  /** Writes into our own file only: once the path belongs to another holder, nothing of theirs can be touched. */
  async #renew(): Promise<void> {
    if (this.#timer === null) return;
    try {
      await this.check();
      this.#holder = { ...this.#holder, renewedAt: this.#options.now() };
      await this.#write();
    } catch {
      // Lost, which `check` has told; or a disk that fails for a moment, which is tried again in ten seconds: the lease outlives two such failures.
    }
  }

  /** Over what is there: no text is shorter than the one before, for `overtook` only ever becomes false. */
  async #write(): Promise<void> {
    await this.#file.write(JSON.stringify(this.#holder), 0);
  }

  #lost(holder: Holder | null): MillraceError {
    if (this.#loss !== null) return this.#loss;
    this.#loss = lost(holder);
    this.#options.onLost(this.#loss);
    this.#stopRenewing();
    return this.#loss;
  }

  #stopRenewing(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }
}

/** Who holds the job now; null: nobody who is alive or may be. */
export async function currentHolder(path: string, now: number): Promise<Holder | null> {
  const found = await readHolder(path);
  return found === null || isStale(found, now) ? null : found;
}

/** Waits until the lock is ours, for one lease at most. */
async function enter(options: LockOptions): Promise<{ file: FileHandle; holder: Holder }> {
  const giveUpAt = options.monotonicNow() + LEASE_MS;
  let waiting = false;
  let seen: { readonly holder: Holder; readonly at: number } | null = null;
  for (;;) {
    const holder = ourselves(options.now());
    const file = await tryCreate(options.path, holder);
    if (file !== null) return { file, holder };
    const found = await readHolder(options.path);
    const givesUp = options.monotonicNow() >= giveUpAt || options.signal?.aborted === true;
    if (found === null) {
      // Just let go; or a link that leads nowhere, which would be looked at for ever.
      if (givesUp) throw lockFailed(options.path, 'read', new Error('something stands there that is no file'));
      await sleep(GONE_MS);
      continue;
    }
    if (seen === null || seen.holder.nonce !== found.nonce || seen.holder.renewedAt !== found.renewedAt) seen = { holder: found, at: options.monotonicNow() };
    // Seen for a whole lease without a renewal: its clock is ahead of ours, or it is paused.
    if (isStale(found, options.now()) || options.monotonicNow() - seen.at >= LEASE_MS) {
      const successor = { ...holder, overtook: found.overtook || !isDead(found) };
      const taken = await succeed(options.path, found, successor, options.now());
      if (taken === 'changed') continue;
      if (taken !== 'under way') return { file: taken, holder: successor };
    } else if (!waiting) {
      options.onWait?.(found);
      waiting = true;
    }
    if (givesUp) throw heldBy(found);
    await sleep(LOOK_EVERY_MS, undefined, options.signal === undefined ? {} : { signal: options.signal }).catch(() => undefined);
  }
}

async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true });
  } catch (error) {
    throw lockFailed(path, 'written', error);
  }
}

function heldBy(holder: Holder): MillraceError {
  return new MillraceError(EXIT.stopped, 'job_held', `another run holds this job: process ${holder.pid} on ${holder.host}, since ${holder.since}`, { hint: 'Wait for it to finish, or stop it; this command then resumes the job.' });
}

function lost(holder: Holder | null): MillraceError {
  if (holder === null) return new MillraceError(EXIT.stopped, 'job_lost', 'this run lost the job: its lock file is gone', { hint: 'Whatever removed it, run the same command: the job resumes.' });
  const who = `process ${holder.pid} on ${holder.host} took it over at ${holder.since}`;
  return new MillraceError(EXIT.stopped, 'job_lost', `this run lost the job: ${who}`, { hint: 'This run was paused for longer than its lease, and has changed nothing since. Where the other one has not finished the job, the same command resumes it.' });
}
