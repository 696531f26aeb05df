/** Detects writes to the index, so that search can cache what it read until the next write. */
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
  #seen: readonly [others: unknown, own: number | undefined] | null = null;

  constructor(store: Store) {
    this.#store = store;
    this.#ofOthers = store.prepare('PRAGMA data_version');
  }

  /** Whether the index may have changed since the last call. To be called in the read transaction of the search. */
  hasChanged(): boolean {
    const now = [this.#ofOthers.get()?.['data_version'], written.get(this.#store)] as const;
    const before = this.#seen;
    this.#seen = now;
    return before === null || before[0] !== now[0] || before[1] !== now[1];
  }
}
