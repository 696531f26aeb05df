import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { AbsenceFilter } from './absence-filter.ts';
import { HASHES } from './key-hash.ts';

/** Index entries read at a time: about 10 ms. */
const READ_AT_ONCE = 50_000;
/** Read when the ledger is opened; of a larger one the rest follows while the job runs. */
const READ_FIRST = 2;

/**
 * Which keys are surely not in the ledger, without asking the disk. The index is read into the filter piece by piece, in
 * order of hash, so that a ledger of millions opens at once; until all is read, every key may be there.
 */
export class KnownKeys {
  readonly #filter = new AbsenceFilter();
  readonly #db: DatabaseSync;
  readonly #slice: StatementSync;
  /** How much of all hashes is about `READ_AT_ONCE` entries. */
  #step = 0;
  /** Hashes below this one are in the filter. */
  #readTo = 0;

  constructor(db: DatabaseSync) {
    // Both in one statement: an entry may move from one to the other at any time.
    this.#db = db;
    this.#slice = db.prepare('SELECT hash FROM places WHERE hash >= ?1 AND hash < ?2 UNION ALL SELECT hash FROM new_places WHERE hash >= ?1 AND hash < ?2');
    this.#slice.setReturnArrays(true);
  }

  /** To be called once `add` is told of all that is added from now on. */
  readFirst(): void {
    const answers = Number(this.#db.prepare('SELECT max(id) AS n FROM answers').get()?.['n'] ?? 0);
    this.#step = Math.min(HASHES, Math.ceil((HASHES / Math.max(1, answers)) * READ_AT_ONCE));
    for (let i = 0; i < READ_FIRST; i++) this.readOn();
  }

  add(hash: number): void {
    this.#filter.add(hash);
  }

  /** True: no answer has this hash. */
  isAbsent(hash: number): boolean {
    return this.#readTo >= HASHES && this.#filter.isAbsent(hash);
  }

  /** Reads the next piece of the index, if there is one. */
  readOn(): void {
    if (this.#readTo >= HASHES) return;
    for (const row of this.#slice.iterate(this.#readTo, this.#readTo + this.#step)) this.#filter.add((row as unknown as [number])[0]);
    this.#readTo += this.#step;
  }
}
