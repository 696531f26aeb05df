import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { link, mkdir, open, readFile, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EXIT, MillraceError, StorageError } from '../errors.ts';

/** A holder that has not renewed for this long has lost the job. */
export const LEASE_MS = 30_000;
const RENEW_EVERY_MS = 10_000;
const LOOK_EVERY_MS = 500;

/** Who holds a job. */
export interface Holder {
  readonly nonce: string;
  readonly host: string;
  /** Tells two starts of one machine (or two containers of one name) apart. */
  readonly boot: string;
  readonly pid: number;
  /** When that process started, in the kernel's ticks: a process id alone is used again. */
  readonly processStart: string;
  readonly since: string;
  readonly renewedAt: number;
}

export interface LockOptions {
  readonly path: string;
  readonly now: () => number;
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
    const giveUpAt = options.now() + LEASE_MS;
    let waiting = false;
    let tookOver = false;
    for (;;) {
      const holder = ourselves(options.now());
      const file = await tryCreate(options.path, holder);
      if (file !== null) return new JobLock(options, file, holder, tookOver);
      const found = await readHolder(options.path);
      if (found === null) continue;
      const dead = isDead(found);
      if (dead || options.now() - found.renewedAt > LEASE_MS) {
        if (await removeStale(options.path, found)) tookOver = !dead;
        continue;
      }
      if (options.now() >= giveUpAt || options.signal?.aborted === true) throw heldBy(found);
      if (!waiting) options.onWait?.(found);
      waiting = true;
      await sleep(LOOK_EVERY_MS, undefined, options.signal === undefined ? {} : { signal: options.signal }).catch(() => undefined);
    }
  }

  /** Whether the lock is still this run's. @throws MillraceError 75 when it is not */
  async check(): Promise<void> {
    const [ours, there] = await Promise.all([this.#file.stat(), stat(this.#options.path).catch(() => null)]);
    if (there === null || there.ino !== ours.ino || there.dev !== ours.dev) throw lost(await readHolder(this.#options.path));
  }

  /** Lets go, if it is still ours. Never throws. */
  async release(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    await this.#renewing;
    const ours = await this.check().then(() => true, () => false);
    if (ours) await rm(this.#options.path, { force: true }).catch(() => undefined);
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
      if (error instanceof MillraceError) {
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
  return found === null || isDead(found) || now - found.renewedAt > LEASE_MS ? null : found;
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
    const file = await open(temporary, 'wx+', 0o600);
    try {
      await file.writeFile(JSON.stringify(holder));
      await file.datasync();
      await link(temporary, path);
      return file;
    } catch (error) {
      await file.close();
      throw error;
    } finally {
      await rm(temporary, { force: true });
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return null;
    throw lockFailed(path, 'written', error);
  }
}

/** Null when it is gone. A foreign file counts as a holder that last renewed when it was written. */
async function readHolder(path: string): Promise<Holder | null> {
  let text: string;
  let touchedAt: Date;
  try {
    text = await readFile(path, 'utf8');
    touchedAt = (await stat(path)).mtime;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw lockFailed(path, 'read', error);
  }
  try {
    return JSON.parse(text) as Holder;
  } catch {
    return { nonce: text, host: 'an unknown host', boot: '', pid: 0, processStart: '', since: touchedAt.toISOString(), renewedAt: touchedAt.getTime() };
  }
}

/** Moves a stale lock out of the way; false when somebody else was faster. */
async function removeStale(path: string, expected: Holder): Promise<boolean> {
  const aside = `${path}.${randomUUID()}.stale`;
  try {
    await rename(path, aside);
  } catch {
    return false;
  }
  const moved = await readHolder(aside);
  if (moved !== null && moved.nonce !== expected.nonce) {
    // It changed hands in between: give it back.
    await rename(aside, path);
    return false;
  }
  await rm(aside, { force: true });
  return true;
}

function isDead(holder: Holder): boolean {
  if (holder.host !== hostname() || holder.boot !== bootId()) return false;
  return processStart(holder.pid) !== holder.processStart;
}

function ourselves(now: number): Holder {
  return { nonce: randomUUID(), host: hostname(), boot: bootId(), pid: process.pid, processStart: processStart(process.pid), since: new Date(now).toISOString(), renewedAt: now };
}

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
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
  return new StorageError('lock_failed', `the lock ${path} could not be ${what}: ${(error as Error).message}`, { hint: 'Mend the folder, then run the same command.', cause: error });
}

function heldBy(holder: Holder): MillraceError {
  return new MillraceError(EXIT.stopped, 'job_held', `another run holds this job: process ${holder.pid} on ${holder.host}, since ${holder.since}`, { hint: 'Wait for it to finish, or stop it; this command then resumes the job.' });
}

function lost(holder: Holder | null): MillraceError {
  const who = holder === null ? 'its lock file is gone' : `process ${holder.pid} on ${holder.host} took it over at ${holder.since}`;
  return new MillraceError(EXIT.stopped, 'job_lost', `this run lost the job: ${who}`, { hint: 'This run was paused for longer than its lease. The other one goes on with the job.' });
}
