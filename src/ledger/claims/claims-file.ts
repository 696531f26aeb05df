import { rmSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { isBusy } from '../../sqlite/busy.ts';
import { rollback } from '../../sqlite/transaction.ts';

/**
 * claims: which lookup (by its key's hash) which run is asking for. members: runs that write their claims here.
 * Nothing is flushed to the disk: no claim outlives the machine.
 */
const TABLES = `PRAGMA busy_timeout = 20; PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;
  CREATE TABLE IF NOT EXISTS claims (hash INTEGER NOT NULL, holder INTEGER NOT NULL, PRIMARY KEY (hash, holder)) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS members (holder INTEGER PRIMARY KEY) STRICT;
  PRAGMA busy_timeout = 0;`;

/**
 * What runs on one machine are asking for, in a small SQLite file beside their ledger. It exists only while several runs use the ledger.
 * Each method is one short transaction, and returns null, having changed nothing, while another process writes.
 */
export class ClaimsFile {
  readonly #db: DatabaseSync;
  readonly #holdersOf: StatementSync;
  readonly #claim: StatementSync;
  readonly #release: StatementSync;

  private constructor(db: DatabaseSync) {
    this.#db = db;
    this.#holdersOf = db.prepare('SELECT holder FROM claims WHERE hash = ?');
    this.#holdersOf.setReturnArrays(true);
    this.#claim = db.prepare('INSERT OR IGNORE INTO claims (hash, holder) VALUES (?, ?)');
    this.#release = db.prepare('DELETE FROM claims WHERE hash = ? AND holder = ?');
  }

  /** Null: another process is writing. */
  static open(ledger: string): ClaimsFile | null {
    const db = new DatabaseSync(pathOf(ledger));
    try {
      db.exec(TABLES);
      return new ClaimsFile(db);
    } catch (error) {
      db.close();
      if (isBusy(error)) return null;
      throw error;
    }
  }

  /** Deletes the file. To be called while no other run uses the ledger. */
  static remove(ledger: string): void {
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${pathOf(ledger)}${suffix}`, { force: true });
  }

  /** The holder writes its claims here from now on, beginning with those that it has. */
  join(holder: number, hashes: Iterable<number>): true | null {
    return this.#write(() => {
      for (const hash of hashes) this.#claim.run(hash, holder);
      this.#db.prepare('INSERT OR IGNORE INTO members (holder) VALUES (?)').run(holder);
      return true;
    });
  }

  members(): ReadonlySet<number> {
    return new Set(this.#db.prepare('SELECT holder FROM members').all().map(({ holder }) => Number(holder)));
  }

  /**
   * Releases claims, then claims each of the lookups that no other run holds. Returns for each whether it is the holder's.
   * @param blocks whether a lookup that this other run has claimed must wait for it
   */
  exchange(holder: number, released: readonly number[], asked: readonly number[], blocks: (other: number) => boolean): boolean[] | null {
    return this.#write(() => {
      for (const hash of released) this.#release.run(hash, holder);
      return asked.map((hash) => {
        const holders = this.#holdersOf.all(hash) as unknown as readonly (readonly [number])[];
        if (holders.some(([other]) => other !== holder && blocks(other))) return false;
        this.#claim.run(hash, holder);
        return true;
      });
    });
  }

  /** Releases all that a run has claimed. */
  forget(holder: number): true | null {
    return this.#write(() => {
      this.#db.prepare('DELETE FROM claims WHERE holder = ?').run(holder);
      this.#db.prepare('DELETE FROM members WHERE holder = ?').run(holder);
      return true;
    });
  }

  close(): void {
    this.#db.close();
  }

  #write<T>(work: () => T): T | null {
    try {
      this.#db.exec('BEGIN IMMEDIATE');
    } catch (error) {
      if (isBusy(error)) return null;
      throw error;
    }
    try {
      const result = work();
      this.#db.exec('COMMIT');
      return result;
    } catch (error) {
      rollback(this.#db);
      throw error;
    }
  }
}

function pathOf(ledger: string): string {
  return `${ledger}-claims`;
}
