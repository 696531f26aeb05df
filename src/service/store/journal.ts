/**
 * What is written down for answers: collected, then written in one transaction at the end of the event loop's turn, because one transaction a request would
 * take more time than most requests. An answer that owes something waits for `written`, so that nothing is given that a crash could make undone.
 */
import { isBusy } from '../../sqlite/busy.ts';
import { transaction } from '../../sqlite/transaction.ts';
import type { Store } from './store.ts';

/** How long a write may wait that no answer waits for, milliseconds. */
const FLUSH_EVERY_MS = 100;
/** While another process writes, it is tried again this soon: an import lets go of the store between its transactions. */
const TRY_AGAIN_MS = 5;
/** How long a store may be busy before somebody hears of it. */
const TELL_AFTER_MS = 2_000;
/** At the end it is waited for another process this long, milliseconds. */
const LAST_WAIT_MS = 5_000;

/** Something that collects writes. `flush` runs inside a transaction; `flushed` only after it was committed. */
export interface Pending {
  readonly size: number;
  flush(): void;
  flushed(): void;
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
  readonly #members: Pending[] = [];
  readonly #clock: () => number;
  readonly #onError: (error: unknown) => void;
  #timer: NodeJS.Timeout | null = null;
  #soon: NodeJS.Immediate | null = null;
  /** By how long they wait at most. */
  readonly #batches = new Map<number, Batch>();
  #failingSinceMs: number | null = null;
  #told = false;
  #closed = false;

  /** @param onError hears of each failure once, of a store that is merely busy when it has been for long. @param clock monotonic, milliseconds */
  constructor(store: Store, onError: (error: unknown) => void, clock: () => number = () => performance.now()) {
    this.#store = store;
    this.#onError = onError;
    this.#clock = clock;
  }

  /** Adds a collector; all are written together. */
  join(member: Pending): void {
    this.#members.push(member);
  }

  /** To be called by a collector that has something to write. */
  wake(): void {
    if (!this.#closed) this.#timer ??= setTimeout(() => this.flush(), FLUSH_EVERY_MS);
  }

  /** Resolves with true once all that is collected by now is in the store; with false when the store would not take it in time, or nothing is written any more. */
  written(patienceMs: number): Promise<boolean> {
    if (this.#closed) return Promise.resolve(false);
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

  /** Writes everything now. When the store is busy or full the writes stay and are tried again. */
  flush(): boolean {
    this.#unschedule();
    const full = this.#members.filter((member) => member.size > 0);
    try {
      if (full.length > 0) {
        transaction(this.#store, () => {
          for (const member of full) member.flush();
        });
      }
    } catch (error) {
      this.#failed(error);
      return false;
    }
    for (const member of full) member.flushed();
    this.#failingSinceMs = null;
    this.#told = false;
    for (const batch of this.#batches.values()) this.#settle(batch, true);
    return true;
  }

  /** Writes what is left and stops. Whoever comes later, such as a request whose connection is gone, is not written for: it would be tried for ever on a store that is closed, and the process never end. */
  close(): void {
    if (this.#closed) return;
    if (this.#members.some(({ size }) => size > 0)) this.#store.exec(`PRAGMA busy_timeout = ${LAST_WAIT_MS}`);
    this.flush();
    this.#closed = true;
    this.#unschedule();
    for (const batch of this.#batches.values()) this.#settle(batch, false);
  }

  #failed(error: unknown): void {
    this.#failingSinceMs ??= this.#clock();
    const busy = isBusy(error);
    if (!this.#told && (!busy || this.stuckMs >= TELL_AFTER_MS)) {
      this.#told = true;
      this.#onError(error);
    }
    for (const batch of this.#batches.values()) if (this.#clock() - batch.sinceMs >= batch.patienceMs) this.#settle(batch, false);
    this.#retry();
  }

  #settle(batch: Batch, written: boolean): void {
    this.#batches.delete(batch.patienceMs);
    batch.resolve(written);
  }

  #retry(): void {
    this.#unschedule();
    this.#timer = setTimeout(() => this.flush(), this.#batches.size === 0 ? FLUSH_EVERY_MS : TRY_AGAIN_MS);
  }

  #unschedule(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#soon !== null) clearImmediate(this.#soon);
    this.#timer = null;
    this.#soon = null;
  }
}
