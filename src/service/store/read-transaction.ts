/**
 * All reads of an event-loop turn in one read transaction. A single statement locks and unlocks the file, which costs as much as finding
 * the row, and a turn has dozens of them.
 */
import { beforeWriting } from '../../sqlite/transaction.ts';
import type { Store } from './store.ts';

type Value = string | number | null;

/** Finds a row by its key and returns the values of its columns. */
export type Find = (key: Value) => readonly unknown[] | undefined;

export interface PreparedReads {
  prepare(sql: string): Find;
}

/** Each read by itself. */
export function singleReads(store: Store): PreparedReads {
  return { prepare: (sql) => finder(store, sql) };
}

/**
 * Begins with the first read of a turn. It ends with the turn, so that the next one sees writes of other processes, and before this process
 * writes.
 * It uses the writer's connection, because each write would drop the page cache of another one.
 */
export class ReadTransaction implements PreparedReads {
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
      // An open transaction reads one moment already.
      if (!this.#isOpen && !this.#store.isTransaction) this.#open();
      return find(key);
    };
  }

  /** Ends the transaction at once. */
  end(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    // A read transaction has nothing to commit, and SQLite's COMMIT after damage would throw where nothing catches it.
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
