import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { BloomFilter } from './bloom-filter.ts';
import { HASHES } from './key-hash.ts';

/** Index entries read at a time: about 10 ms. */
const READ_AT_ONCE = 50_000;
/** Batches read when the ledger is opened. The rest of a larger ledger follows while the job runs. */
const READ_FIRST = 2;

/**
 * Says without disk access which keys are certainly not in the ledger. The index is read into the Bloom filter in steps, in the order of
 * hashes, so that a ledger of millions opens at once. Until all of it is read, every other key may be present.
 */
export class KnownKeys {
  readonly #filter = new BloomFilter();
  readonly #db: DatabaseSync;
  readonly #slice: StatementSync;
  /** The range of hashes that has about `READ_AT_ONCE` entries. */
  #step = 0;
  /** Hashes below this one are in the filter. */
  #readTo = 0;

  constructor(db: DatabaseSync) {
    // One statement for both indexes: an entry may move between them at any time.
    this.#db = db;
    this.#slice = db.prepare(
      'SELECT hash FROM places WHERE hash >= ?1 AND hash < ?2 UNION ALL SELECT hash FROM new_places WHERE hash >= ?1 AND hash < ?2',
    );
    this.#slice.setReturnArrays(true);
  }

  /** Call it once `add` receives every new answer. */
  readFirst(): void {
    const answers = Number(this.#db.prepare('SELECT max(id) AS n FROM answers').get()?.['n'] ?? 0);
    this.#step = Math.min(HASHES, Math.ceil((HASHES / Math.max(1, answers)) * READ_AT_ONCE));
    for (let i = 0; i < READ_FIRST; i++) this.readOn();
  }

  add(hash: number): void {
    this.#filter.add(hash);
  }

  /** True when no answer has this hash. */
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
