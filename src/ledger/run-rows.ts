import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** The numbers of runs in a ledger file, created on demand. */
export class RunRows {
  readonly #insert: StatementSync;
  readonly #find: StatementSync;
  readonly #known = new Map<string, number>();

  constructor(db: DatabaseSync) {
    this.#insert = db.prepare('INSERT OR IGNORE INTO runs (job, run) VALUES (?, ?)');
    this.#find = db.prepare('SELECT id FROM runs WHERE run = ?');
  }

  /** -1 for an unknown run. */
  find(run: string): number {
    return Number(this.#find.get(run)?.['id'] ?? -1);
  }

  /** Call it within a transaction that is not rolled back on its own: the number is cached. */
  idOf(job: string, run: string): number {
    const known = this.#known.get(run);
    if (known !== undefined) return known;
    this.#insert.run(job, run);
    const id = this.find(run);
    this.#known.set(run, id);
    return id;
  }
}
