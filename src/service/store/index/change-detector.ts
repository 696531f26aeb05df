/** Detects writes to the index, so that search can cache what it read until the next write. */
import { endSharedRead } from '../../../sqlite/transaction.ts';
import type { Store } from '../store.ts';

/** Write transactions of this process, by connection. SQLite's `data_version` changes only with the writes of other connections. */
const written = new WeakMap<Store, number>();

/** To be called in each transaction that writes to the index. */
export function recordWrite(store: Store): void {
  written.set(store, (written.get(store) ?? 0) + 1);
}

export class ChangeDetector {
  readonly #store: Store;
  readonly #ofOthers;
  #marked: string | null = null;

  /** @param store the connection that writes the index in this process */
  constructor(store: Store) {
    this.#store = store;
    this.#ofOthers = store.prepare('PRAGMA data_version');
  }

  /** Whether the index may have been written since the last mark. */
  hasChanged(): boolean {
    return this.#marked !== this.#version();
  }

  /**
   * Begins a read transaction of another connection, and marks what it sees. Returns whether that differs from the last mark.
   * @param undo ends the transaction where another process wrote at that moment; then it begins anew
   */
  mark(begin: () => void, undo: () => void): boolean {
    for (;;) {
      const version = this.#version();
      begin();
      if (version !== this.#version()) {
        undo();
        continue;
      }
      const isNew = this.#marked !== version;
      this.#marked = version;
      return isNew;
    }
  }

  /** A read transaction would hide what others wrote since it began. */
  #version(): string {
    endSharedRead(this.#store);
    return `${String(this.#ofOthers.get()?.['data_version'])} ${written.get(this.#store) ?? 0}`;
  }
}
