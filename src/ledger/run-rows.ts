import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** The numbers of runs in a ledger's file, made where they are not there. */
export class RunRows {
  readonly #insert: StatementSync;
  readonly #find: StatementSync;
  readonly #known = new Map<string, number>();

  constructor(db: DatabaseSync) {
    this.#insert = db.prepare('INSERT OR IGNORE INTO runs (job, run) VALUES (?, ?)');
    this.#find = db.prepare('SELECT id FROM runs WHERE run = ?');
  }

  /** -1: there is none. */
  find(run: string): number {
    return Number(this.#find.get(run)?.['id'] ?? -1);
  }

  /** Within a transaction that is not rolled back by itself: the number is remembered. */
  idOf(job: string, run: string): number {
    const known = this.#known.get(run);
    if (known !== undefined) return known;
    this.#insert.run(job, run);
    const id = this.find(run);
    this.#known.set(run, id);
    return id;
  }
}
