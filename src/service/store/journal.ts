/**
 * Writes that may wait a moment: collected, then written in one transaction, because one transaction a request would
 * allow a few hundred requests a second and not ten thousand. A crash loses at most what waited.
 */
import { transaction } from '../../sqlite/transaction.ts';
import type { Store } from './store.ts';

/** How long a write may wait, milliseconds. */
const FLUSH_EVERY_MS = 100;

/** Something that collects writes. `flush` runs inside a transaction; `flushed` only after it was committed. */
export interface Pending {
  readonly size: number;
  flush(): void;
  flushed(): void;
}

export class Journal {
  readonly #store: Store;
  readonly #members: Pending[] = [];
  #timer: NodeJS.Timeout | null = null;
  #onError: (error: unknown) => void;

  constructor(store: Store, onError: (error: unknown) => void) {
    this.#store = store;
    this.#onError = onError;
  }

  /** Adds a collector; all are written together. */
  join(member: Pending): void {
    this.#members.push(member);
  }

  /** To be called by a collector that has something to write. */
  wake(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.flush();
    }, FLUSH_EVERY_MS);
  }

  /** Writes everything now. When the store is busy or full the writes stay and are tried again; answers go on meanwhile. */
  flush(): boolean {
    const full = this.#members.filter((member) => member.size > 0);
    if (full.length === 0) return true;
    try {
      transaction(this.#store, () => {
        for (const member of full) member.flush();
      });
    } catch (error) {
      this.#onError(error);
      this.wake();
      return false;
    }
    for (const member of full) member.flushed();
    return true;
  }

  /** Writes what is left and stops. */
  close(): void {
    this.flush();
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
