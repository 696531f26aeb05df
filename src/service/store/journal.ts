/**
 * What is written down for answers: collected, then written in one transaction at the end of the event loop's turn, because one transaction a request would
 * take more time than most requests. An answer that owes something waits for `written`, so that nothing is given that a crash could make undone.
 */
import { isDamage } from '../../sqlite/system-code.ts';
import { transaction } from '../../sqlite/transaction.ts';
import { hasRoomAgain, writeFailureOf, type WriteFailure } from './store-disk.ts';
import type { Store } from './store.ts';

/** How long a write may wait that no answer waits for, milliseconds. */
const FLUSH_EVERY_MS = 100;
/** While another process writes, it is tried again this soon: an import lets go of the store between its transactions. */
const TRY_AGAIN_MS = 5;
/** A disk that is full or fails is tried again this often: it is noticed within a second that it is mended. */
const TRY_DISK_AGAIN_MS = 500;
/** How long a store may be busy before somebody hears of it. */
const TELL_AFTER_MS = 2_000;
/** At the end it is waited for another process this long, milliseconds. */
const LAST_WAIT_MS = 5_000;

/** Something that collects writes. `flush` runs inside a transaction; `flushed` only after it was committed. */
export interface Pending {
  readonly size: number;
  flush(): void;
  flushed(): void;
  /** What `flush` writes, as parts that do not need each other. */
  parts(): Iterable<Part>;
}

/** What is written or given up by itself where something in the store is damaged. */
export interface Part {
  write(): void;
  /** What it touches is damaged: it is not written any more, and is no part from now on. */
  giveUp(): void;
  /** By id, the key that is charged with it. */
  readonly charges?: string;
  /** By id, the key that is charged for it: without the charge it is given up. */
  readonly chargedTo?: string;
}

/** Hears of what is not a failure of the whole store, or is over. */
export interface JournalListener {
  /** Something is damaged. @param where as `join` was told */
  readonly onDamage: (where: string, error: unknown) => void;
  /** A failure that `onError` was told of is over. */
  readonly onRecovered: () => void;
}

const NOBODY: JournalListener = { onDamage: () => undefined, onRecovered: () => undefined };

interface Member {
  readonly member: Pending;
  readonly where: string;
}

/** Answers that wait for the same transaction. */
interface Batch {
  readonly patienceMs: number;
  readonly promise: Promise<boolean>;
  readonly resolve: (written: boolean) => void;
  readonly sinceMs: number;
}

export class Journal {
  readonly #store: Store;
  readonly #members: Member[] = [];
  readonly #clock: () => number;
  readonly #onError: (error: unknown, failure: WriteFailure) => void;
  readonly #listener: JournalListener;
  /** The store's file. */
  readonly #path: string;
  #timer: NodeJS.Timeout | null = null;
  #soon: NodeJS.Immediate | null = null;
  /** By how long they wait at most. */
  readonly #batches = new Map<number, Batch>();
  #failingSinceMs: number | null = null;
  #failure: WriteFailure | null = null;
  #told = false;
  #closed = false;

  /** @param onError hears of each failure once, of a store that is merely busy when it has been for long. @param clock monotonic, milliseconds */
  constructor(store: Store, onError: (error: unknown, failure: WriteFailure) => void, clock: () => number = () => performance.now(), listener: JournalListener = NOBODY) {
    this.#store = store;
    this.#onError = onError;
    this.#clock = clock;
    this.#listener = listener;
    this.#path = store.location() ?? '';
  }

  /** Adds a collector; all are written together. @param where what part of the service it belongs to, for whom damage is told */
  join(member: Pending, where: string): void {
    this.#members.push({ member, where });
  }

  /** To be called by a collector that has something to write. */
  wake(): void {
    if (!this.#closed) this.#timer ??= setTimeout(() => this.flush(), FLUSH_EVERY_MS);
  }

  /** Resolves with true once all that is collected by now is in the store, but for what is damaged there; with false when the store would not take it in time, at once when its disk is known to take nothing, or nothing is written any more. */
  written(patienceMs: number): Promise<boolean> {
    if (this.#closed || this.hasNoDisk) return Promise.resolve(false);
    const waiting = this.#batches.get(patienceMs);
    if (waiting !== undefined) return waiting.promise;
    const batch = { ...Promise.withResolvers<boolean>(), patienceMs, sinceMs: this.#clock() };
    this.#batches.set(patienceMs, batch);
    if (this.#failingSinceMs === null) this.#soon ??= setImmediate(() => this.flush());
    else this.#retry();
    return batch.promise;
  }

  /** Writes at once what answers wait for, if any do. */
  writeAwaited(): void {
    if (this.#batches.size > 0 && this.#failingSinceMs === null) this.flush();
  }

  /** For how long the store has refused to be written, milliseconds; 0: it does not. */
  get stuckMs(): number {
    return this.#failingSinceMs === null ? 0 : this.#clock() - this.#failingSinceMs;
  }

  /** Why the store is not written now; null: it is, as far as is known. */
  get failure(): WriteFailure | null {
    return this.#failure;
  }

  /** Whether the disk is full or fails: that lasts until somebody mends it. */
  get hasNoDisk(): boolean {
    return this.#failure !== null && this.#failure.startsWith('disk_');
  }

  /** Writes everything now. When the store is busy or full the writes stay and are tried again. */
  flush(): boolean {
    this.#unschedule();
    try {
      this.#write();
    } catch (error) {
      this.#failed(error);
      return false;
    }
    this.#failingSinceMs = null;
    this.#failure = null;
    if (this.#told) this.#listener.onRecovered();
    this.#told = false;
    for (const batch of this.#batches.values()) this.#settle(batch, true);
    return true;
  }

  #write(): void {
    const full = this.#members.filter(({ member }) => member.size > 0);
    if (this.#failure === 'disk_full' && !hasRoomAgain(this.#path)) throw new StillFull();
    if (full.length === 0) {
      if (this.hasNoDisk) this.#writeNothing();
      return;
    }
    try {
      transaction(this.#store, () => {
        for (const { member } of full) member.flush();
      });
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#writeWhole(full);
    }
    for (const { member } of full) member.flushed();
  }

  /**
   * Gives up what meets damage, and writes the rest. SQLite commits nothing of a transaction that has met damage, so another one is begun without it: a charge
   * and the answer that it is for are in the store together, or neither is.
   */
  #writeWhole(members: readonly Member[]): void {
    for (;;) {
      const tried: { part: Part | null; where: string } = { part: null, where: '' };
      try {
        transaction(this.#store, () => {
          for (const { member, where } of members) {
            for (const part of member.parts()) {
              Object.assign(tried, { part, where });
              part.write();
            }
          }
          tried.part = null;
        });
        return;
      } catch (error) {
        const { part, where } = tried;
        if (part === null || !isDamage(error)) throw error;
        giveUp(part, members);
        this.#listener.onDamage(where, error);
      }
    }
  }

  /** Finds out whether the store can be written while nothing is to be: what was refused is not there any more. */
  #writeNothing(): void {
    transaction(this.#store, () => {
      const { user_version: version } = this.#store.prepare('PRAGMA user_version').get() as { user_version: number };
      this.#store.exec(`PRAGMA user_version = ${version}`);
    });
  }

  /** Writes what is left and stops. Whoever comes later, such as a request whose connection is gone, is not written for: it would be tried for ever on a store that is closed, and the process never end. */
  close(): void {
    if (this.#closed) return;
    if (this.#members.some(({ member }) => member.size > 0)) this.#store.exec(`PRAGMA busy_timeout = ${LAST_WAIT_MS}`);
    // A disk that was full may take what little is left.
    this.#failure = null;
    this.flush();
    this.#closed = true;
    this.#unschedule();
    for (const batch of this.#batches.values()) this.#settle(batch, false);
  }

  #failed(error: unknown): void {
    this.#failingSinceMs ??= this.#clock();
    const failure = error instanceof StillFull ? 'disk_full' : writeFailureOf(error, this.#path);
    this.#failure = failure;
    if (!this.#told && (failure !== 'store_busy' || this.stuckMs >= TELL_AFTER_MS)) {
      this.#told = true;
      this.#onError(error, failure);
    }
    for (const batch of this.#batches.values()) if (this.hasNoDisk || this.#clock() - batch.sinceMs >= batch.patienceMs) this.#settle(batch, false);
    this.#retry();
  }

  #settle(batch: Batch, written: boolean): void {
    this.#batches.delete(batch.patienceMs);
    batch.resolve(written);
  }

  #retry(): void {
    this.#unschedule();
    this.#timer = setTimeout(() => this.flush(), this.hasNoDisk ? TRY_DISK_AGAIN_MS : this.#batches.size === 0 ? FLUSH_EVERY_MS : TRY_AGAIN_MS);
  }

  #unschedule(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#soon !== null) clearImmediate(this.#soon);
    this.#timer = null;
    this.#soon = null;
  }
}

/** Outside of the transaction: what was booked for an answer is taken back with it, and must not be written before. */
function giveUp(part: Part, members: readonly Member[]): void {
  part.giveUp();
  if (part.charges === undefined) return;
  for (const { member } of members) for (const other of member.parts()) if (other.chargedTo === part.charges) other.giveUp();
}

/** The disk was full, and has too little room yet. */
class StillFull extends Error {}
