/** The keys that a plan has counted. */
import { DatabaseSync } from 'node:sqlite';

/** A set on the disk, so that memory does not grow with the input. */
export interface Seen {
  /** True when the key was not there before. */
  add(key: string): boolean;
}

/** A set of keys on disk. */
export class KeySet implements Seen {
  readonly #db: DatabaseSync;
  readonly #insert;

  constructor(path: string) {
    this.#db = new DatabaseSync(path);
    this.#db.exec(
      'PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; CREATE TABLE keys (key TEXT PRIMARY KEY) WITHOUT ROWID, STRICT; BEGIN',
    );
    this.#insert = this.#db.prepare('INSERT OR IGNORE INTO keys VALUES (?)');
  }

  /** True when the key was not there before. */
  add(key: string): boolean {
    return this.#insert.run(key).changes === 1;
  }

  close(): void {
    this.#db.close();
  }
}
