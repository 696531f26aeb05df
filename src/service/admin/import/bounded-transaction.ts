/** Transactions of an import with a time limit: short while others write to the store, and longer, which is cheaper, while nobody does. */
import { setTimeout } from 'node:timers/promises';
import { beginWriting, rollback } from '../../../sqlite/transaction.ts';
import type { Store } from '../../store/store.ts';

/** Time limit while others write to the directory, such as an erasure; milliseconds. */
const SHARED_MS = 300;
/**
 * Time limit while nobody else writes, milliseconds. Each changed page is written at the transaction's end and again at the log's
 * checkpoint, so longer transactions are cheaper.
 */
const ALONE_MS = 1_200;
/** How long to watch for other writers at the start, and how long after a write to expect another. Milliseconds. */
const WATCH_MS = 1_000;
const EXPECTED_MS = 60_000;
/** The pause after each transaction, in which others can write; milliseconds. */
const PAUSE_MS = 8;
/** The least share of a transaction's time that its rows get, however long the last commit took. */
const MIN_ROWS_SHARE = 0.25;

export class BoundedTransaction {
  readonly #store: Store;
  readonly #version;
  readonly #now: () => number;
  #seenVersion: unknown = null;
  #aloneFromMs;
  #begunMs = 0;
  #overMs = 0;
  #share = 1;

  /** @param now milliseconds of a monotonic clock */
  constructor(store: Store, now: () => number = () => performance.now()) {
    this.#store = store;
    this.#now = now;
    this.#aloneFromMs = now() + WATCH_MS;
    this.#version = store.prepare('PRAGMA data_version');
  }

  get isOpen(): boolean {
    return this.#store.isTransaction;
  }

  /** Milliseconds until the transaction should be committed. */
  get leftMs(): number {
    return this.#overMs - this.#now();
  }

  async begin(): Promise<void> {
    if (this.#seenVersion !== null) await setTimeout(PAUSE_MS);
    beginWriting(this.#store);
    this.#begunMs = this.#now();
    const version = this.#version.get()?.['data_version'];
    if (this.#seenVersion !== null && version !== this.#seenVersion) this.#aloneFromMs = this.#begunMs + EXPECTED_MS;
    this.#seenVersion = version;
    this.#overMs = this.#begunMs + this.#share * (this.#begunMs < this.#aloneFromMs ? SHARED_MS : ALONE_MS);
  }

  /** Commits. @param finish writes the last statements of the transaction */
  commit(finish: () => void): void {
    const rowsMs = this.#now() - this.#begunMs;
    finish();
    this.#store.exec('COMMIT');
    const tookMs = this.#now() - this.#begunMs;
    this.#share = tookMs === 0 ? 1 : Math.max(MIN_ROWS_SHARE, rowsMs / tookMs);
  }

  rollback(): void {
    rollback(this.#store);
  }
}
