/**
 * The owner of a store is the process that serves it. It holds `STORE.lock`, which the kernel frees when the process ends, and describes
 * itself in `STORE.owner`.
 * See `docs/decisions/store-owner.md` for the alternatives.
 */
import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { EXIT, MillraceError, StorageError, storageHint } from '../../../util/errors.ts';
import { holdFile, type HeldFile } from '../../../sqlite/held-file.ts';
import { systemCodeOf } from '../../../sqlite/system-code.ts';
import { requireFolder } from '../store-file.ts';
import {
  readRecord,
  removeRecord,
  renewalOf,
  renewRecord,
  thisProcess,
  livenessOf,
  writeRecord,
  type OwnerRecord,
} from './owner-record.ts';
import { booksOf, nameOfStore } from './store-name.ts';

/** Interval of attempts while another process holds the lock, milliseconds. */
const RETRY_EVERY_MS = 25;
/** How long to wait for an owner that may be about to end, milliseconds. */
const WAIT_MS = 2_000;
const RENEW_EVERY_MS = 2_000;
/** An owner on another machine that has not renewed its record for this long is dead, milliseconds. */
const LEASE_MS = 10_000;
const WATCH_EVERY_MS = 250;

interface ClaimOptions {
  /** Wait for as long as the owner lives; otherwise for two seconds. */
  readonly waits?: boolean;
  /** Aborts the wait with its reason. */
  readonly signal?: AbortSignal;
  /** Hears once of the owner that holds the store. */
  readonly onHeld?: (owner: OwnerRecord) => void;
  /** Monotonic milliseconds. Default: the process's clock. */
  readonly clock?: () => number;
}

export class StoreOwner {
  /** The store's canonical path. */
  readonly path: string;
  readonly #lock: HeldFile;
  readonly #lost = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #record: OwnerRecord;
  /** Directory and books as they were opened. */
  #files: ReadonlyMap<string, { readonly ino: number; readonly dev: number }> = new Map();
  #renewing: Promise<void> = Promise.resolve();
  #released = false;

  private constructor(path: string, lock: HeldFile, record: OwnerRecord) {
    this.path = path;
    this.#lock = lock;
    this.#record = record;
    this.#timer = setInterval(() => {
      this.#renewing = this.#renewing.then(() => this.#renew());
    }, RENEW_EVERY_MS);
    this.#timer.unref();
  }

  /**
   * Claims the store, which need not exist yet.
   * @throws MillraceError 75 that names the present owner; InputError when the store's folder is missing; StorageError when nothing can be
   * written there
   */
  static async claim(store: string, options: ClaimOptions = {}): Promise<StoreOwner> {
    const { waits = false, signal, onHeld, clock = () => performance.now() } = options;
    requireFolder(store);
    const path = nameOfStore(store);
    const giveUpMs = clock() + WAIT_MS;
    let isReported = false;
    for (;;) {
      signal?.throwIfAborted();
      const owner = await attempt(path, clock);
      if (owner !== null) return new StoreOwner(path, owner.lock, owner.record);
      const record = await readRecord(path);
      if (record !== null && !isReported) {
        isReported = true;
        onHeld?.(record);
      }
      if (!waits && clock() >= giveUpMs) throw heldBy(store, record);
      await sleep(RETRY_EVERY_MS);
    }
  }

  /** Claims the store at once; null: another process holds it. @throws as `claim` does */
  static async tryClaim(store: string): Promise<StoreOwner | null> {
    const path = nameOfStore(store);
    const owner = await attempt(path, () => performance.now());
    return owner === null ? null : new StoreOwner(path, owner.lock, owner.record);
  }

  /** Aborts when this process loses the store, with the error to end with. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Watches for the removal or replacement of the store's files, which must exist. */
  async watchFiles(): Promise<void> {
    const paths = [this.path, booksOf(this.path)];
    this.#files = new Map(await Promise.all(paths.map(async (path) => [path, await stat(path)] as const)));
  }

  /** Publishes the service's URL in the record. @throws StorageError */
  async publishUrl(url: string): Promise<void> {
    this.#record = { ...this.#record, url };
    await write(this.path, this.#record);
  }

  /** Releases the store. Never throws. Safe to call twice. */
  async release(): Promise<void> {
    if (this.#released) return;
    this.#released = true;
    clearInterval(this.#timer);
    await this.#renewing;
    await removeRecord(this.path, this.#record);
    this.#lock.release();
  }

  async #renew(): Promise<void> {
    if (this.#released || this.#lost.signal.aborted) return;
    try {
      for (const [path, opened] of this.#files) {
        const file = await stat(path).catch((error: unknown) => ifMissing(error));
        if (file !== null && file.ino === opened.ino && file.dev === opened.dev) continue;
        this.#lost.abort(movedAway(path));
        return;
      }
      const record = await readRecord(this.path);
      if (record !== null && record.nonce !== this.#record.nonce) this.#lost.abort(lostTo(this.path, record));
      else if (record === null) await writeRecord(this.path, this.#record);
      else await renewRecord(this.path, Date.now());
    } catch {
      // The disk fails for a moment. The kernel still holds the lock, and the next renewal tries again.
    }
  }
}

/** Null: another process has the store. */
async function attempt(path: string, clock: () => number): Promise<{ readonly lock: HeldFile; readonly record: OwnerRecord } | null> {
  const lock = hold(path);
  if (lock === null) return null;
  try {
    const before = await readRecord(path);
    if (before === null || !(await isAlive(path, before, clock))) {
      const record = thisProcess(Date.now());
      await write(path, record);
      return { lock, record };
    }
  } catch (error) {
    lock.release();
    throw error;
  }
  lock.release();
  return null;
}

/**
 * An owner may be alive although this process holds the lock: its lock file was removed, or it is on another machine that this disk's locks
 * do not reach.
 */
async function isAlive(path: string, owner: OwnerRecord, clock: () => number): Promise<boolean> {
  const where = livenessOf(owner);
  // The lock keeps two owners within this process apart.
  if (where !== 'another machine') return where === 'alive' && owner.pid !== process.pid;
  const first = await renewalOf(path);
  const untilMs = clock() + LEASE_MS;
  while (clock() < untilMs) {
    await sleep(WATCH_EVERY_MS);
    const renewed = await renewalOf(path);
    if (renewed !== first) return renewed !== null;
  }
  return false;
}

function hold(path: string): HeldFile | null {
  try {
    return holdFile(`${path}.lock`);
  } catch (error) {
    return cannotWrite(path, error);
  }
}

function write(path: string, record: OwnerRecord): Promise<void> {
  return writeRecord(path, record).catch((error: unknown) => cannotWrite(path, error));
}

/** @throws StorageError */
function cannotWrite(path: string, error: unknown): never {
  throw new StorageError(
    'store_unusable',
    `cannot serve the store ${path}: the file that says who serves it cannot be written beside it: ` +
      (error instanceof Error ? error.message : String(error)),
    { hint: storageHint({ code: systemCodeOf(error) }, 'what is in the store is whole'), cause: error },
  );
}

function ifMissing(error: unknown): null {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  return null;
}

/** The owner in words, for a message. */
function named(owner: OwnerRecord): string {
  const { pid, host, since, url } = owner;
  return (
    `process ${pid}${livenessOf(owner) === 'unknown' ? ' of another container' : ''} on ${host}, since ` +
    `${since}${url === null ? '' : `, at ${url}`}`
  );
}

function heldBy(store: string, owner: OwnerRecord | null): MillraceError {
  const who = owner === null ? 'a process that does not say who it is' : named(owner);
  const isElsewhere = owner !== null && ['unknown', 'another machine'].includes(livenessOf(owner));
  const next = isElsewhere
    ? 'Stop it where it runs; millrace serve --take-over waits for its end.'
    : 'Stop that one first; millrace serve --take-over takes its place.';
  return new MillraceError(EXIT.stopped, 'store_held', `another process has the store ${store}: ${who}`, {
    hint: `One process serves a store. ${next}`,
  });
}

function lostTo(path: string, owner: OwnerRecord): MillraceError {
  return new MillraceError(EXIT.stopped, 'store_lost', `the store ${path} was taken over: ${named(owner)}`, {
    hint: 'This process was paused for longer than other machines wait. The other one goes on.',
  });
}

function movedAway(path: string): StorageError {
  const what = existsSync(path) ? 'replaced by another file' : 'removed or renamed';
  return new StorageError('store_moved', `the store ${path} was ${what} while it was served`, {
    hint: 'Stop the service before you replace its store. What was answered since is in the file that was there; start the service again.',
  });
}
