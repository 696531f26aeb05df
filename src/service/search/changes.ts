/** Whether what search looks into was written to, so that what was read of it before may be kept until then. */
import type { Store } from '../store/store.ts';

/** Transactions of this process, by connection: SQLite tells a connection of the writes of others alone. */
const written = new WeakMap<Store, number>();

/** To be called by whoever writes what is kept. */
export function noteChange(store: Store): void {
  written.set(store, (written.get(store) ?? 0) + 1);
}

export class Changes {
  readonly #store: Store;
  readonly #ofOthers;
  #seen: readonly [others: unknown, own: number | undefined] | null = null;

  constructor(store: Store) {
    this.#store = store;
    this.#ofOthers = store.prepare('PRAGMA data_version');
  }

  /** Whether something may have changed since this was asked before; in the transaction of the reads that it is asked for. */
  happened(): boolean {
    const now = [this.#ofOthers.get()?.['data_version'], written.get(this.#store)] as const;
    const before = this.#seen;
    this.#seen = now;
    return before === null || before[0] !== now[0] || before[1] !== now[1];
  }
}
