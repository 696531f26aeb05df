import { rmSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { isBusy } from '../../sqlite/busy.ts';
import { rollback } from '../../sqlite/transaction.ts';

/**
 * `claims`: the run that asks for a lookup, by the hash of the lookup's key. `members`: the runs with claims here, and the seeds of their
 * Idempotency-Keys. `left_behind`: the seeds of lookups that an ended run was asking for, until they are answered.
 * Nothing is flushed to the disk, because no claim outlives the machine.
 */
const TABLES = `PRAGMA busy_timeout = 20; PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;
  CREATE TABLE IF NOT EXISTS claims (hash INTEGER NOT NULL, holder INTEGER NOT NULL, PRIMARY KEY (hash, holder)) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS members (holder INTEGER PRIMARY KEY, seed TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS left_behind (hash INTEGER PRIMARY KEY, seed TEXT NOT NULL) STRICT;
  PRAGMA busy_timeout = 0;`;

/** The result of a claim. `seed`: a run that has ended was asking, with keys made with this seed. */
export interface Claim {
  readonly isOwn: boolean;
  readonly seed: string | null;
}

const NOT_OWN: Claim = { isOwn: false, seed: null };

/** Claims that a run no longer needs: those with an answer, and those that it gives up without one. */
export interface GivenClaims {
  readonly released: readonly number[];
  readonly left: readonly number[];
}

/** By hash: the seeds of lookups that an ended run was asking for. */
export type LeftBehind = ReadonlyMap<number, string>;

/**
 * The claims of runs on one machine, in a small SQLite file beside their ledger. It exists only while several runs use the ledger. Each
 * method is one short transaction. It returns null, without a change, while another process writes.
 */
export class ClaimsFile {
  readonly #db: DatabaseSync;
  readonly #holdersOf: StatementSync;
  readonly #claim: StatementSync;
  readonly #release: StatementSync;
  readonly #seedOf: StatementSync;
  readonly #leave: StatementSync;
  readonly #leaveOwn: StatementSync;
  readonly #settle: StatementSync;

  private constructor(db: DatabaseSync) {
    this.#db = db;
    this.#holdersOf = db.prepare('SELECT holder FROM claims WHERE hash = ?');
    this.#holdersOf.setReturnArrays(true);
    this.#claim = db.prepare('INSERT OR IGNORE INTO claims (hash, holder) VALUES (?, ?)');
    this.#release = db.prepare('DELETE FROM claims WHERE hash = ? AND holder = ?');
    this.#seedOf = db.prepare('SELECT seed FROM left_behind WHERE hash = ?');
    this.#leave = db.prepare('INSERT OR IGNORE INTO left_behind (hash, seed) VALUES (?, ?)');
    this.#leaveOwn = db.prepare('INSERT OR IGNORE INTO left_behind (hash, seed) SELECT ?, seed FROM members WHERE holder = ?');
    this.#settle = db.prepare('DELETE FROM left_behind WHERE hash = ?');
  }

  /** null while another process is writing. */
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

  /**
   * From now on the holder's claims are here, beginning with the current ones. @param seed of the holder's keys @param left the seeds of
   * ended runs
   */
  join(holder: number, seed: string, hashes: Iterable<number>, left: LeftBehind): true | null {
    return this.#write(() => {
      for (const [hash, before] of left) this.#leave.run(hash, before);
      for (const hash of hashes) this.#claim.run(hash, holder);
      this.#db.prepare('INSERT OR IGNORE INTO members (holder, seed) VALUES (?, ?)').run(holder, seed);
      return true;
    });
  }

  members(): ReadonlySet<number> {
    return new Set(
      this.#db
        .prepare('SELECT holder FROM members')
        .all()
        .map(({ holder }) => Number(holder)),
    );
  }

  leftBehind(): LeftBehind {
    return new Map(
      this.#db
        .prepare('SELECT hash, seed FROM left_behind')
        .all()
        .map(({ hash, seed }) => [Number(hash), String(seed)]),
    );
  }

  /**
   * Releases claims, then claims each lookup that no other run holds.
   * @param blocks whether a lookup that this other run has claimed must wait for it
   */
  exchange(holder: number, { released, left }: GivenClaims, asked: readonly number[], blocks: (other: number) => boolean): Claim[] | null {
    return this.#write(() => {
      for (const hash of left) {
        this.#leaveOwn.run(hash, holder);
        this.#release.run(hash, holder);
      }
      for (const hash of released) {
        this.#release.run(hash, holder);
        this.#settle.run(hash);
      }
      return asked.map((hash) => {
        const holders = this.#holdersOf.all(hash) as unknown as readonly (readonly [number])[];
        if (holders.some(([other]) => other !== holder && blocks(other))) return NOT_OWN;
        this.#claim.run(hash, holder);
        const seed = this.#seedOf.get(hash)?.['seed'];
        return { isOwn: true, seed: seed === undefined ? null : String(seed) };
      });
    });
  }

  /** Releases all claims of a run, and stores the seed of its keys, because some requests may have been sent. */
  forget(holder: number): true | null {
    return this.#write(() => {
      this.#db
        .prepare(
          'INSERT OR IGNORE INTO left_behind (hash, seed) SELECT c.hash, ' +
            'm.seed FROM claims c JOIN members m USING (holder) WHERE holder = ?',
        )
        .run(holder);
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
