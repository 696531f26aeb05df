import { setTimeout as sleep } from 'node:timers/promises';
import { EXIT, MillraceError } from '../util/errors.ts';
import { isS3Uri } from '../s3/uri.ts';
import { temporaryName, type Fence } from '../storage/fence.ts';
import { fileLock } from './file-lock.ts';
import { isDead, isStale, LEASE_MS, lockFailed, ourselves, type Holder } from './holder.ts';
import type { LockHandle, LockStore } from './lock-store.ts';

const RENEW_EVERY_MS = 10_000;
const LOOK_EVERY_MS = 500;
/** Milliseconds to wait for a lock that is gone when it is read. */
const GONE_MS = 10;

export interface LockOptions {
  readonly path: string;
  /** Epoch milliseconds, written for other runs to read. */
  readonly now: () => number;
  /** Monotonic milliseconds, for measuring waits. */
  readonly monotonicNow: () => number;
  /** Called once when the run begins to wait for a live holder. */
  readonly onWait?: (holder: Holder) => void;
  /** Called when the lease is lost. Nothing may be written after that. */
  readonly onLost: (error: MillraceError) => void;
  /** Called once when the storage cannot guarantee a single holder, with a description of the weaker protection. */
  readonly onWeak?: (message: string) => void;
  readonly signal?: AbortSignal;
  /** Wait as long as the holder lives. Otherwise the wait lasts one lease. */
  readonly untilReleased?: boolean;
}

/**
 * The lock of a job: a lease in a file or in an S3 object.
 * A dead holder on this machine is noticed at once. Any other holder gets one lease to renew or to release the lock.
 */
export class JobLock implements Fence {
  readonly #options: LockOptions;
  readonly #place: LockStore;
  readonly #handle: LockHandle;
  #holder: Holder;
  #timer: NodeJS.Timeout | null = null;
  #renewing: Promise<void> = Promise.resolve();
  #loss: MillraceError | null = null;

  private constructor(options: LockOptions, place: LockStore, handle: LockHandle, holder: Holder) {
    this.#options = options;
    this.#place = place;
    this.#handle = handle;
    this.#holder = holder;
    this.#timer = setInterval(() => {
      this.#renewing = this.#renewing.then(() => this.#renew());
    }, RENEW_EVERY_MS);
    this.#timer.unref();
  }

  /** @throws MillraceError 75 when another run holds the job; StorageError when the lock cannot be written */
  static async acquire(options: LockOptions): Promise<JobLock> {
    const place = await lockStore(options);
    await place.prepare();
    const { handle, holder } = await enter(place, options);
    await place.sweep(options.now());
    return new JobLock(options, place, handle, holder);
  }

  /**
   * True when the previous holder did not release the lock and may come back, so that its open files must not be shared.
   * It stays true until `filesReplaced`, also for the successor of a run that was killed before that.
   */
  get previousHolderMayReturn(): boolean {
    return this.#holder.overtook;
  }

  /** Records that no file of the job can be open in a previous holder. @throws StorageError */
  async filesReplaced(): Promise<void> {
    this.#holder = { ...this.#holder, overtook: false };
    let ours: boolean;
    try {
      ours = await this.#handle.record(this.#holder);
    } catch (error) {
      throw lockFailed(this.#options.path, 'written', error);
    }
    if (!ours) await this.check();
  }

  get id(): string {
    return this.#holder.nonce.slice(0, 8);
  }

  temporary(path: string): string {
    return temporaryName(path, this.id);
  }

  /** Confirms that this run holds the lock. @throws MillraceError 75 when it does not; StorageError when the storage fails */
  async check(): Promise<void> {
    if (this.#loss !== null) throw this.#loss;
    let ours: boolean;
    try {
      ours = await this.#handle.isOurs();
    } catch (error) {
      throw lockFailed(this.#options.path, 'read', error);
    }
    if (!ours) throw this.#lost(await this.#place.read().catch(() => null));
  }

  /** The error of a lost job, which may be the cause of another failure. Null while this run holds the job. */
  async loss(): Promise<MillraceError | null> {
    await this.check().catch(() => undefined);
    return this.#loss;
  }

  /** The same check, synchronously, for code inside a transaction. */
  readonly checkNow = (): void => {
    if (this.#loss !== null) throw this.#loss;
    let ours: boolean;
    try {
      ours = this.#handle.isOursNow();
    } catch (error) {
      throw lockFailed(this.#options.path, 'read', error);
    }
    if (!ours) throw this.#lost(this.#place.readNow());
  };

  /** Releases the lock if this run holds it. Never throws. */
  async release(): Promise<void> {
    this.#stopRenewing();
    await this.#renewing;
    const ours = await this.check().then(
      () => true,
      () => false,
    );
    // If files may still be shared, the lock stays as a dead holder's, so that the next run knows.
    if (ours && !this.#holder.overtook) await this.#handle.release();
    else await this.#handle.close();
  }

  async #renew(): Promise<void> {
    if (this.#timer === null) return;
    try {
      this.#holder = { ...this.#holder, renewedAt: this.#options.now() };
      if (!(await this.#handle.renew(this.#holder))) await this.check();
    } catch {
      // Either the lock is lost, which `check` has reported, or the storage fails. The next attempt follows in ten seconds; the lease
      // outlasts two failures.
    }
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

/** The holder of a job. Null when the job is free or its holder is stale. */
export async function currentHolder(path: string, now: number): Promise<Holder | null> {
  const found = await (await lockStore({ path, now: () => now })).read();
  return found === null || isStale(found, now) ? null : found;
}

/** Waits until this run holds the lock. */
async function enter(place: LockStore, options: LockOptions): Promise<{ handle: LockHandle; holder: Holder }> {
  const giveUpAt = options.monotonicNow() + LEASE_MS;
  let waiting = false;
  let goneSince: number | null = null;
  let seen: { readonly holder: Holder; readonly at: number } | null = null;
  for (;;) {
    const holder = ourselves(options.now());
    const handle = await place.create(holder);
    if (handle !== null) return { handle, holder };
    const found = await place.read();
    const now = options.monotonicNow();
    const givesUp = (now >= giveUpAt && options.untilReleased !== true) || options.signal?.aborted === true;
    if (found === null) {
      // The lock was just released, or is a dangling link, which must not be polled for ever.
      goneSince ??= now;
      if (now - goneSince >= (givesUp ? LOOK_EVERY_MS : LEASE_MS))
        throw lockFailed(options.path, 'read', new Error('something stands there that is no file'));
      await sleep(GONE_MS);
      continue;
    }
    goneSince = null;
    if (seen === null || seen.holder.nonce !== found.nonce || seen.holder.renewedAt !== found.renewedAt)
      seen = { holder: found, at: options.monotonicNow() };
    // Unchanged for a whole lease: the holder is paused, or its clock is ahead of ours.
    if (isStale(found, options.now()) || options.monotonicNow() - seen.at >= LEASE_MS) {
      const successor = { ...holder, overtook: found.overtook || !isDead(found) };
      const taken = await place.takeOver(found, successor, options.now());
      if (taken === 'changed') continue;
      if (taken !== 'under way') return { handle: taken, holder: successor };
    } else if (!waiting) {
      options.onWait?.(found);
      waiting = true;
    }
    if (givesUp) throw heldBy(found);
    await sleep(LOOK_EVERY_MS, undefined, options.signal === undefined ? {} : { signal: options.signal }).catch(() => undefined);
  }
}

/** The S3 lock is loaded only when the lock lies there. */
async function lockStore(options: Pick<LockOptions, 'path' | 'now' | 'onWeak'>): Promise<LockStore> {
  return isS3Uri(options.path) ? (await import('./s3-lock.ts')).s3Lock(options) : fileLock(options.path);
}

function heldBy(holder: Holder): MillraceError {
  return new MillraceError(
    EXIT.stopped,
    'job_held',
    `another run holds this job: process ${holder.pid} on ${holder.host}, since ${holder.since}`,
    { hint: 'Wait for it to finish, or stop it; this command then resumes the job.' },
  );
}

function lost(holder: Holder | null): MillraceError {
  if (holder === null)
    return new MillraceError(EXIT.stopped, 'job_lost', 'this run lost the job: its lock file is gone', {
      hint: 'Whatever removed it, run the same command: the job resumes.',
    });
  const who = `process ${holder.pid} on ${holder.host} took it over at ${holder.since}`;
  return new MillraceError(EXIT.stopped, 'job_lost', `this run lost the job: ${who}`, {
    hint:
      'This run was paused for longer than its lease, and has changed nothing since. ' +
      'Where the other one has not finished the job, the same command resumes it.',
  });
}
