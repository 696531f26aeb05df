import { hash, randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync, type Stats } from 'node:fs';
import { link, mkdir, open, readFile, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EXIT, MillraceError, StorageError, storageHint } from '../errors.ts';

/** A holder that has not renewed for this long has lost the job. */
export const LEASE_MS = 30_000;
const RENEW_EVERY_MS = 10_000;
const LOOK_EVERY_MS = 500;

/** Who holds a job. */
export interface Holder {
  readonly nonce: string;
  readonly host: string;
  /** Tells two starts of one machine, and two containers of one name, apart: only within it does `pid` mean anything. */
  readonly boot: string;
  readonly pid: number;
  /** When that process started, in the kernel's ticks: a process id alone is used again. */
  readonly processStart: string;
  readonly since: string;
  readonly renewedAt: number;
}

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
export class JobLock {
  readonly #options: LockOptions;
  readonly #file: FileHandle;
  #holder: Holder;
  #timer: NodeJS.Timeout | null = null;
  #renewing: Promise<void> = Promise.resolve();
  /** The holder before did not let go by itself, and may come back: its open files must not be shared. */
  readonly tookOverFromUnknown: boolean;

  private constructor(options: LockOptions, file: FileHandle, holder: Holder, tookOverFromUnknown: boolean) {
    this.#options = options;
    this.#file = file;
    this.#holder = holder;
    this.tookOverFromUnknown = tookOverFromUnknown;
    this.#timer = setInterval(() => {
      this.#renewing = this.#renewing.then(() => this.#renew());
    }, RENEW_EVERY_MS);
    this.#timer.unref();
  }

  /** @throws MillraceError 75 when another run holds the job, StorageError when the file cannot be written */
  static async acquire(options: LockOptions): Promise<JobLock> {
    await makeFolder(options.path);
    const giveUpAt = options.monotonicNow() + LEASE_MS;
    let waiting = false;
    let tookOver = false;
    let seen: { readonly holder: Holder; readonly at: number } | null = null;
    for (;;) {
      const holder = ourselves(options.now());
      const file = await tryCreate(options.path, holder);
      if (file !== null) return new JobLock(options, file, holder, tookOver);
      const found = await readHolder(options.path);
      if (found === null) continue;
      if (seen === null || seen.holder.nonce !== found.nonce || seen.holder.renewedAt !== found.renewedAt) seen = { holder: found, at: options.monotonicNow() };
      // Seen for a whole lease without a renewal: its clock is ahead of ours, or it is paused.
      if (isStale(found, options.now()) || options.monotonicNow() - seen.at >= LEASE_MS) {
        const removal = await removeStale(options.path, found, options.now());
        if (removal === 'removed') tookOver = !isDead(found);
        if (removal !== 'under way') continue;
      } else if (!waiting) {
        options.onWait?.(found);
        waiting = true;
      }
      if (options.monotonicNow() >= giveUpAt || options.signal?.aborted === true) throw heldBy(found);
      await sleep(LOOK_EVERY_MS, undefined, options.signal === undefined ? {} : { signal: options.signal }).catch(() => undefined);
    }
  }

  /** Whether the lock is still this run's. @throws MillraceError 75 when it is not, StorageError when the disk does not say */
  async check(): Promise<void> {
    const { path } = this.#options;
    const [ours, there] = await Promise.all([this.#file.stat(), statOrNull(path)]).catch((error: unknown) => {
      throw lockFailed(path, 'read', error);
    });
    // Where the folder is gone, nobody has taken anything over.
    if (there === null) await stat(dirname(path)).catch((error: unknown) => { throw lockFailed(path, 'read', error); });
    if (there === null || there.ino !== ours.ino || there.dev !== ours.dev) throw lost(await readHolder(path));
  }

  /** Lets go, if it is still ours. Never throws. */
  async release(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    await this.#renewing;
    const ours = await this.check().then(() => true, () => false);
    if (ours) await takeAway(this.#options.path, this.#holder.nonce).catch(() => undefined);
    await this.#file.close().catch(() => undefined);
  }

  /** Writes into our own file only: once the path belongs to another holder, nothing of theirs can be touched. */
  async #renew(): Promise<void> {
    if (this.#timer === null) return;
    try {
      await this.check();
      this.#holder = { ...this.#holder, renewedAt: this.#options.now() };
      await this.#file.write(JSON.stringify(this.#holder), 0);
    } catch (error) {
      if (error instanceof MillraceError && error.code === 'job_lost') {
        if (this.#timer !== null) clearInterval(this.#timer);
        this.#timer = null;
        this.#options.onLost(error);
      }
      // A disk that fails for a moment is tried again in ten seconds; the lease outlives two such failures.
    }
  }
}

/** Who holds the job now; null: nobody who is alive or may be. */
export async function currentHolder(path: string, now: number): Promise<Holder | null> {
  const found = await readHolder(path);
  return found === null || isStale(found, now) ? null : found;
}

async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true });
  } catch (error) {
    throw lockFailed(path, 'written', error);
  }
}

/** Creates the lock with its content at once (a link to a finished file), so that nobody ever reads half of it. Null: it exists. */
async function tryCreate(path: string, holder: Holder): Promise<FileHandle | null> {
  const temporary = `${path}.${holder.nonce}.tmp`;
  try {
    const file = await createWhole(temporary, holder);
    try {
      await link(temporary, path);
      return file;
    } catch (error) {
      await file.close();
      // Then whoever looks too early reads half of it, which counts as a holder that has just renewed.
      if (hasNoLinks(error)) return await createWhole(path, holder);
      throw error;
    } finally {
      await rm(temporary, { force: true });
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return null;
    throw lockFailed(path, 'written', error);
  }
}

/** A new file that holds the holder, or none at all. */
async function createWhole(path: string, holder: Holder): Promise<FileHandle> {
  const file = await open(path, 'wx+', 0o600);
  try {
    await file.writeFile(JSON.stringify(holder));
    await file.datasync();
    return file;
  } catch (error) {
    await file.close();
    await rm(path, { force: true });
    throw error;
  }
}

/** FAT, some FUSE and network disks, and some sandboxes know no hard links (link(2)). */
function hasNoLinks(error: unknown): boolean {
  return ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes((error as NodeJS.ErrnoException).code ?? '');
}

/** Null when it is gone. A foreign file counts as a holder that last renewed when it was written. */
async function readHolder(path: string): Promise<Holder | null> {
  try {
    const text = await readFile(path, 'utf8');
    const { mtime } = await stat(path);
    return parseHolder(text) ?? { nonce: text, host: 'an unknown host', boot: '', pid: 0, processStart: '', since: mtime.toISOString(), renewedAt: mtime.getTime() };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw lockFailed(path, 'read', error);
  }
}

function parseHolder(text: string): Holder | null {
  try {
    const value = JSON.parse(text) as Partial<Holder> | null;
    const texts = [value?.nonce, value?.host, value?.boot, value?.processStart, value?.since];
    return texts.every((part) => typeof part === 'string') && typeof value?.pid === 'number' && typeof value.renewedAt === 'number' ? (value as Holder) : null;
  } catch {
    return null;
  }
}

/**
 * Removes the lock of a holder that is stale. No file system removes a file only if it still is what one has read, so a
 * slow remover could take away its successor's lock: the removal has a lock of its own, named after the holder.
 * `under way`: somebody else is removing it.
 */
async function removeStale(path: string, expected: Holder, now: number): Promise<'removed' | 'changed' | 'under way'> {
  const removal = `${path}.${hash('sha256', expected.nonce).slice(0, 8)}.removal`;
  const file = await tryCreate(removal, ourselves(now));
  if (file === null) {
    const remover = await readHolder(removal);
    // It died over it.
    if (remover !== null && isStale(remover, now)) await removeStale(removal, remover, now);
    return 'under way';
  }
  try {
    const found = await readHolder(path);
    return found?.nonce === expected.nonce && (await takeAway(path, expected.nonce)) ? 'removed' : 'changed';
  } finally {
    await file.close();
    await rm(removal, { force: true });
  }
}

/** Removes the lock if it is the one with this nonce. Looks again once it is out of the way, and gives back what was not meant. */
async function takeAway(path: string, nonce: string): Promise<boolean> {
  const aside = `${path}.${randomUUID()}.stale`;
  try {
    await rename(path, aside);
  } catch {
    return false;
  }
  const moved = await readHolder(aside);
  const meant = moved === null || moved.nonce === nonce;
  // A link never replaces what somebody has created in between.
  if (!meant) await link(aside, path).catch(() => undefined);
  await rm(aside, { force: true });
  return meant;
}

async function statOrNull(path: string): Promise<Stats | null> {
  try {
    return await stat(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Of a process of this machine it is known whether it lives, and a clock that was set says nothing against it. */
function isStale(holder: Holder, now: number): boolean {
  return isHere(holder) ? isDead(holder) : now - holder.renewedAt > LEASE_MS;
}

function isHere(holder: Holder): boolean {
  return holder.host === hostname() && holder.boot === bootId();
}

function isDead(holder: Holder): boolean {
  return isHere(holder) && processStart(holder.pid) !== holder.processStart;
}

function ourselves(now: number): Holder {
  return { nonce: randomUUID(), host: hostname(), boot: bootId(), pid: process.pid, processStart: processStart(process.pid), since: new Date(now).toISOString(), renewedAt: now };
}

function bootId(): string {
  try {
    // Containers share the kernel and may share a name, but not their process ids (pid_namespaces(7)).
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return '';
  }
}

/** Field 22 of /proc/PID/stat (proc(5)); elsewhere whether the process exists at all. Empty: no such process. */
function processStart(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // State Z: dead, and only waiting for its parent to notice.
    return fields[0] === 'Z' ? '' : (fields[19] ?? '');
  } catch {
    if (process.platform === 'linux') return '';
  }
  try {
    process.kill(pid, 0);
    return 'alive';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM' ? 'alive' : '';
  }
}

function lockFailed(path: string, what: 'written' | 'read', error: unknown): StorageError {
  return new StorageError('lock_failed', `the lock ${path} could not be ${what}: ${(error as Error).message}`, { hint: storageHint(error), cause: error });
}

function heldBy(holder: Holder): MillraceError {
  return new MillraceError(EXIT.stopped, 'job_held', `another run holds this job: process ${holder.pid} on ${holder.host}, since ${holder.since}`, { hint: 'Wait for it to finish, or stop it; this command then resumes the job.' });
}

function lost(holder: Holder | null): MillraceError {
  if (holder === null) return new MillraceError(EXIT.stopped, 'job_lost', 'this run lost the job: its lock file is gone', { hint: 'Whatever removed it, run the same command: the job resumes.' });
  return new MillraceError(EXIT.stopped, 'job_lost', `this run lost the job: process ${holder.pid} on ${holder.host} took it over at ${holder.since}`, { hint: 'This run was paused for longer than its lease. The other one goes on with the job.' });
}
