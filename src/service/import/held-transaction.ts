/** Transactions of an import: as long as others who use the store can bear, and when there are none, as long as pays. */
import { setTimeout } from 'node:timers/promises';
import { beginWriting, rollback } from '../../sqlite/transaction.ts';
import type { Store } from '../store/store.ts';

/** How long one may take in all while others write, too: answers that cost something wait for it. Milliseconds. */
const SHARED_MS = 300;
/**
 * The same while nobody else does. Rows land on pages all over the indexes, and each page that a transaction has touched is written once at its end and once more
 * when the log is moved: the longer, the cheaper. A service waits for two seconds until it says that the store is busy.
 */
const ALONE_MS = 1_200;
/** Nobody else is there if nobody has written for a moment; and whoever has, will again. */
const LOOKED_MS = 1_000;
const REMEMBERED_MS = 60_000;
/** After each the store is left to others for a moment. */
const LEFT_MS = 8;
/** Of the time that a transaction takes, what is left for its rows at the least, however long the end of the one before took. */
const LEAST_SHARE = 0.25;

export class HeldTransaction {
  readonly #store: Store;
  readonly #version;
  readonly #now: () => number;
  #seenVersion: unknown = null;
  #aloneFromMs;
  #begunMs = 0;
  #overMs = 0;
  #share = 1;

  /** @param now milliseconds of a clock that only goes on */
  constructor(store: Store, now: () => number = () => performance.now()) {
    this.#store = store;
    this.#now = now;
    this.#aloneFromMs = now() + LOOKED_MS;
    this.#version = store.prepare('PRAGMA data_version');
  }

  get isOpen(): boolean {
    return this.#store.isTransaction;
  }

  /** Milliseconds until it is to be committed. */
  get leftMs(): number {
    return this.#overMs - this.#now();
  }

  async begin(): Promise<void> {
    if (this.#seenVersion !== null) await setTimeout(LEFT_MS);
    beginWriting(this.#store);
    this.#begunMs = this.#now();
    const version = this.#version.get()?.['data_version'];
    if (this.#seenVersion !== null && version !== this.#seenVersion) this.#aloneFromMs = this.#begunMs + REMEMBERED_MS;
    this.#seenVersion = version;
    this.#overMs = this.#begunMs + this.#share * (this.#begunMs < this.#aloneFromMs ? SHARED_MS : ALONE_MS);
  }

  /** @param finish what is written last */
  commit(finish: () => void): void {
    const rowsMs = this.#now() - this.#begunMs;
    finish();
    this.#store.exec('COMMIT');
    const tookMs = this.#now() - this.#begunMs;
    this.#share = tookMs === 0 ? 1 : Math.max(LEAST_SHARE, rowsMs / tookMs);
  }

  rollback(): void {
    rollback(this.#store);
  }
}
