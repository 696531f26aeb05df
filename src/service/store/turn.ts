/**
 * Reads as of one moment for a turn of the event loop. A statement by itself takes a lock on the file and gives it back, which costs as much as finding the row;
 * and those of a turn come by the dozen.
 */
import type { DatabaseSync } from 'node:sqlite';
import type { Store } from './store.ts';

type Value = string | number | null;

/** Finds a row by its key, as the values of its columns. */
export type Find = (key: Value) => readonly unknown[] | undefined;

export interface Turn {
  prepare(sql: string): Find;
  /** What is read from here on is at least as new as this moment. */
  renew(): void;
}

/** Each read by itself. */
export function atOnce(store: Store): Turn {
  return { prepare: (sql) => finder(store, sql), renew: () => undefined };
}

/** Reads of a turn together, over a connection of their own. It is let go of at the end of the turn, so that nobody who writes waits for it and the next turn sees what was written. */
export class TurnReader implements Turn {
  readonly #db: DatabaseSync;
  readonly #begin;
  readonly #commit;
  #isOpen = false;

  /** @param db nobody else uses it */
  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#begin = db.prepare('BEGIN');
    this.#commit = db.prepare('COMMIT');
  }

  prepare(sql: string): Find {
    const find = finder(this.#db, sql);
    return (key) => {
      if (!this.#isOpen) this.#open();
      return find(key);
    };
  }

  renew(): void {
    this.#end();
  }

  close(): void {
    this.#end();
    this.#db.close();
  }

  #open(): void {
    this.#begin.run();
    this.#isOpen = true;
    setImmediate(() => this.#end());
  }

  #end(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    // After some errors of the disk SQLite has ended it by itself.
    if (this.#db.isTransaction) this.#commit.run();
  }
}

function finder(db: DatabaseSync, sql: string): Find {
  const statement = db.prepare(sql);
  statement.setReturnArrays(true);
  return (key) => statement.get(key) as unknown as readonly unknown[] | undefined;
}
