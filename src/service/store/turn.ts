/**
 * Reads as of one moment for a turn of the event loop. A statement by itself takes a lock on the file and gives it back, which costs as much as finding the row;
 * and those of a turn come by the dozen.
 */
import { beforeWriting } from '../../sqlite/transaction.ts';
import type { Store } from './store.ts';

type Value = string | number | null;

/** Finds a row by its key, as the values of its columns. */
export type Find = (key: Value) => readonly unknown[] | undefined;

export interface Turn {
  prepare(sql: string): Find;
}

/** Each read by itself. */
export function atOnce(store: Store): Turn {
  return { prepare: (sql) => finder(store, sql) };
}

/**
 * Reads of a turn together. It is let go of at the end of the turn, so that the next one sees what was written elsewhere, and before this process writes.
 * Of one connection: another one would throw away its page cache at each write of this one.
 */
export class TurnReader implements Turn {
  readonly #store: Store;
  readonly #begin;
  readonly #rollback;
  #isOpen = false;

  constructor(store: Store) {
    this.#store = store;
    this.#begin = store.prepare('BEGIN');
    this.#rollback = store.prepare('ROLLBACK');
    beforeWriting(store, () => this.end());
  }

  prepare(sql: string): Find {
    const find = finder(this.#store, sql);
    return (key) => {
      // Within a transaction of somebody else all is of one moment already.
      if (!this.#isOpen && !this.#store.isTransaction) this.#open();
      return find(key);
    };
  }

  /** Lets go of the store at once. */
  end(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    // Nothing was written. SQLite would not commit what has met damage, and that would end the process: nobody waits for this.
    if (this.#store.isTransaction) this.#rollback.run();
  }

  #open(): void {
    this.#begin.run();
    this.#isOpen = true;
    setImmediate(() => this.end());
  }
}

function finder(store: Store, sql: string): Find {
  const statement = store.prepare(sql);
  statement.setReturnArrays(true);
  return (key) => statement.get(key) as unknown as readonly unknown[] | undefined;
}
