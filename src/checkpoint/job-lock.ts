import { setTimeout as sleep } from 'node:timers/promises';
import { EXIT, MillraceError } from '../errors.ts';
import { isS3Uri } from '../s3/uri.ts';
import { temporaryName, type Fence } from './fence.ts';
import { fileLock } from './file-lock.ts';
import { isDead, isStale, LEASE_MS, lockFailed, ourselves, type Holder } from './holder.ts';
import type { Grip, LockPlace } from './lock-place.ts';

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
  /** Called once when the place has no way to let in one run alone, and what is done instead is weaker. */
  readonly onWeak?: (message: string) => void;
  readonly signal?: AbortSignal;
  /** Waits for as long as the holder is alive; otherwise for one lease. */
  readonly patient?: boolean;
}

/**
 * The job's lock: a lease in a file, or in an object of S3. A dead holder on this machine is noticed at once; any other holder is given one
 * lease to renew or to go away.
 */
export class JobLock implements Fence {
  readonly #options: LockOptions;
  readonly #place: LockPlace;
  readonly #grip: Grip;
  #holder: Holder;
  #timer: NodeJS.Timeout | null = null;
  #renewing: Promise<void> = Promise.resolve();
  #loss: MillraceError | null = null;

  private constructor(options: LockOptions, place: LockPlace, grip: Grip, holder: Holder) {
    this.#options = options;
    this.#place = place;
    this.#grip = grip;
    this.#holder = holder;
    this.#timer = setInterval(() => {
      this.#renewing = this.#renewing.then(() => this.#renew());
    }, RENEW_EVERY_MS);
    this.#timer.unref();
  }

  /** @throws MillraceError 75 when another run holds the job, StorageError when it cannot be written */
  static async acquire(options: LockOptions): Promise<JobLock> {
    const place = await lockPlace(options);
    await place.prepare();
    const { grip, holder } = await enter(place, options);
    await place.sweep(options.now());
    return new JobLock(options, place, grip, holder);
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
    let ours: boolean;
    try {
      ours = await this.#grip.record(this.#holder);
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

  /** Whether the lock is still this run's. @throws MillraceError 75 when it is not, StorageError when the place does not say */
  async check(): Promise<void> {
    if (this.#loss !== null) throw this.#loss;
    let ours: boolean;
    try {
      ours = await this.#grip.isOurs();
    } catch (error) {
      throw lockFailed(this.#options.path, 'read', error);
    }
    if (!ours) throw this.#lost(await this.#place.read().catch(() => null));
  }

  /** That the job was lost, if it was: what another failure may come from. */
  async loss(): Promise<MillraceError | null> {
    await this.check().catch(() => undefined);
    return this.#loss;
  }

  /** The same, for where one cannot wait: inside a transaction. */
  readonly checkNow = (): void => {
    if (this.#loss !== null) throw this.#loss;
    let ours: boolean;
    try {
      ours = this.#grip.isOursNow();
    } catch (error) {
      throw lockFailed(this.#options.path, 'read', error);
    }
    if (!ours) throw this.#lost(this.#place.readNow());
  };

  /** Lets go, if it is still ours. Never throws. */
  async release(): Promise<void> {
    this.#stopRenewing();
    await this.#renewing;
    const ours = await this.check().then(() => true, () => false);
    // With files that may be shared it stays, as a dead holder's, for the next run to know.
    if (ours && !this.#holder.overtook) await this.#grip.letGo();
    else await this.#grip.close();
  }

  async #renew(): Promise<void> {
    if (this.#timer === null) return;
    try {
      this.#holder = { ...this.#holder, renewedAt: this.#options.now() };
      if (!(await this.#grip.renew(this.#holder))) await this.check();
    } catch {
      // Lost, which `check` has told; or a place that fails for a moment, which is tried again in ten seconds: the lease outlives two such failures.
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

/** Who holds the job now; null: nobody who is alive or may be. */
export async function currentHolder(path: string, now: number): Promise<Holder | null> {
  const found = await (await lockPlace({ path, now: () => now })).read();
  return found === null || isStale(found, now) ? null : found;
}

/** Waits until the lock is ours. */
async function enter(place: LockPlace, options: LockOptions): Promise<{ grip: Grip; holder: Holder }> {
  const giveUpAt = options.monotonicNow() + LEASE_MS;
  let waiting = false;
  let goneSince: number | null = null;
  let seen: { readonly holder: Holder; readonly at: number } | null = null;
  for (;;) {
    const holder = ourselves(options.now());
    const grip = await place.create(holder);
    if (grip !== null) return { grip, holder };
    const found = await place.read();
    const now = options.monotonicNow();
    const givesUp = (now >= giveUpAt && options.patient !== true) || options.signal?.aborted === true;
    if (found === null) {
      // Just let go; or a link that leads nowhere, which would be looked at for ever.
      goneSince ??= now;
      if (now - goneSince >= (givesUp ? LOOK_EVERY_MS : LEASE_MS)) throw lockFailed(options.path, 'read', new Error('something stands there that is no file'));
      await sleep(GONE_MS);
      continue;
    }
    goneSince = null;
    if (seen === null || seen.holder.nonce !== found.nonce || seen.holder.renewedAt !== found.renewedAt) seen = { holder: found, at: options.monotonicNow() };
    // Seen for a whole lease without a renewal: its clock is ahead of ours, or it is paused.
    if (isStale(found, options.now()) || options.monotonicNow() - seen.at >= LEASE_MS) {
      const successor = { ...holder, overtook: found.overtook || !isDead(found) };
      const taken = await place.succeed(found, successor, options.now());
      if (taken === 'changed') continue;
      if (taken !== 'under way') return { grip: taken, holder: successor };
    } else if (!waiting) {
      options.onWait?.(found);
      waiting = true;
    }
    if (givesUp) throw heldBy(found);
    await sleep(LOOK_EVERY_MS, undefined, options.signal === undefined ? {} : { signal: options.signal }).catch(() => undefined);
  }
}

/** S3's is loaded when the lock lies there. */
async function lockPlace(options: Pick<LockOptions, 'path' | 'now' | 'onWeak'>): Promise<LockPlace> {
  return isS3Uri(options.path) ? (await import('../storage/s3-lock.ts')).s3Lock(options) : fileLock(options.path);
}

function heldBy(holder: Holder): MillraceError {
  return new MillraceError(EXIT.stopped, 'job_held', `another run holds this job: process ${holder.pid} on ${holder.host}, since ${holder.since}`, { hint: 'Wait for it to finish, or stop it; this command then resumes the job.' });
}

function lost(holder: Holder | null): MillraceError {
  if (holder === null) return new MillraceError(EXIT.stopped, 'job_lost', 'this run lost the job: its lock file is gone', { hint: 'Whatever removed it, run the same command: the job resumes.' });
  const who = `process ${holder.pid} on ${holder.host} took it over at ${holder.since}`;
  return new MillraceError(EXIT.stopped, 'job_lost', `this run lost the job: ${who}`, { hint: 'This run was paused for longer than its lease, and has changed nothing since. Where the other one has not finished the job, the same command resumes it.' });
}
