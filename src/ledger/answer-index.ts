import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { HASHES, lookupHash } from './key-hash.ts';
import { RecentAnswers } from './recent-answers.ts';
import { NO_SCOPE } from './schema.ts';

/** Answers collected in memory before they go into the index on disk, together and in order. */
export const INDEX_BATCH = 65_536;
/** Index entries written per answer once a batch is full. At this rate a batch is written before the next one is full. */
const INDEXED_PER_ANSWER = 2;
const LEAST_PLACED = 1_024;
/** Batches in the small index before its entries move to the large one. */
const NEW_BATCHES = 16;

/** A batch on its way into the index. `hashes` ascending; those before `next` are written. */
interface Batch {
  readonly answers: RecentAnswers;
  readonly hashes: Float64Array;
  readonly purges: number;
  next: number;
  readonly upTo: number;
}

/**
 * The index from key hash to answers. Keys come in no order, so an index updated per answer would write a disk page for nearly each of
 * them. Therefore the latest answers are in memory, and batches of 65,536 go into a small index in its own order, a slice per transaction.
 * From there they move to the large index, round by round in the order of hashes, so that a page gains many entries at once. A crash loses
 * nothing: answers behind `placed.up_to` are read again when the ledger is opened.
 */
export class AnswerIndex {
  readonly #find: StatementSync;
  readonly #findNew: StatementSync;
  readonly #insert: StatementSync;
  readonly #insertIfThere: StatementSync;
  readonly #placed: StatementSync;
  readonly #purged: StatementSync;
  readonly #later: StatementSync;
  readonly #countNew: StatementSync;
  readonly #moveEnd: StatementSync;
  readonly #move: StatementSync;
  readonly #moved: StatementSync;
  /** Called with the hash of each answer that is new here. */
  readonly #onHash: (hash: number) => void;
  #recent = new RecentAnswers();
  /** `placed.purges` when `#recent` began. */
  #recentPurges: number;
  #batch: Batch | null = null;
  /** Every answer up to this one is in the index or in memory. */
  #seen: number;
  /** Entries of the small index: the last count plus those written since. The next count shows what other jobs did. */
  #new: number;
  /** The hash up to which this round has moved entries of the small index. */
  #movedTo = -1;

  readonly #indexBatch: number;

  constructor(db: DatabaseSync, indexBatch: number, onHash: (hash: number) => void) {
    this.#indexBatch = indexBatch;
    const prepare = (sql: string): StatementSync => {
      const statement = db.prepare(sql);
      statement.setReturnArrays(true);
      return statement;
    };
    this.#find = prepare('SELECT answer FROM places WHERE hash = ?');
    this.#findNew = prepare('SELECT answer FROM new_places WHERE hash = ?');
    this.#insert = prepare('INSERT OR IGNORE INTO new_places (hash, answer) VALUES (?, ?)');
    this.#insertIfThere = prepare(
      'INSERT OR IGNORE INTO new_places (hash, answer) SELECT ?1, ?2 WHERE ' +
        `EXISTS (SELECT 1 FROM answers WHERE id = ?2 AND scope <> ${NO_SCOPE})`,
    );
    this.#placed = prepare('UPDATE placed SET up_to = max(up_to, ?)');
    this.#purged = prepare('SELECT purges FROM placed');
    this.#later = prepare(`SELECT id, scope, key FROM answers WHERE id > ? AND scope <> ${NO_SCOPE} ORDER BY id`);
    this.#countNew = prepare('SELECT count(*) FROM new_places');
    this.#moveEnd = prepare('SELECT hash FROM new_places WHERE hash > ? ORDER BY hash LIMIT 1 OFFSET ?');
    this.#move = prepare('INSERT OR IGNORE INTO places SELECT hash, answer FROM new_places WHERE hash > ? AND hash <= ?');
    this.#moved = prepare('DELETE FROM new_places WHERE hash > ? AND hash <= ?');
    this.#onHash = onHash;
    this.#seen = Number(db.prepare('SELECT up_to FROM placed').get()?.['up_to'] ?? 0);
    this.#recentPurges = only(this.#purged.get());
    this.#new = only(this.#countNew.get());
    this.readNewer();
  }

  /** Answers that may have this hash, the newest first. */
  *idsOf(hash: number): Generator<number, void, void> {
    yield* this.#recent.idsOf(hash);
    if (this.#batch !== null) yield* this.#batch.answers.idsOf(hash);
    const placed = [...this.#findNew.all(hash), ...this.#find.all(hash)].map(only);
    // Another job may have indexed newer answers.
    yield* placed.length > 1 ? placed.sort((a, b) => b - a) : placed;
  }

  /** Reads the answers that other processes have added. */
  readNewer(): void {
    for (const row of this.#later.iterate(this.#seen)) {
      const [id, scope, key] = row as unknown as [number, number, string];
      const hash = lookupHash(scope, key);
      this.add(hash, id);
      this.#onHash(hash);
    }
  }

  /** Adds a committed answer of this process. */
  add(hash: number, id: number): void {
    this.#recent.add(hash, id);
    this.#seen = id;
  }

  /**
   * Writes the next slice of a batch into the index. Call it in the caller's transaction, after `readNewer`. Returns a function to call
   * after the commit.
   */
  writeSlice(answers: number): () => void {
    const purges = only(this.#purged.get());
    if (this.#batch === null && this.#recent.size >= this.#indexBatch) this.#startBatch(purges);
    const most = Math.max(Math.min(LEAST_PLACED, this.#indexBatch / 4), answers * INDEXED_PER_ANSWER);
    const placed = this.#placeBatch(most, purges);
    const moved = this.#moveToLarge(most);
    return () => {
      placed();
      moved();
    };
  }

  #startBatch(purges: number): void {
    this.#batch = { answers: this.#recent, hashes: this.#recent.sortedHashes(), purges: this.#recentPurges, next: 0, upTo: this.#seen };
    this.#recent = new RecentAnswers();
    this.#recentPurges = purges;
    this.#new = only(this.#countNew.get());
  }

  #placeBatch(most: number, purges: number): () => void {
    const batch = this.#batch;
    if (batch === null) return () => undefined;
    const end = Math.min(batch.hashes.length, batch.next + most);
    // A purged answer must not return to the index, not even the hash of its key.
    const insert = batch.purges === purges ? this.#insert : this.#insertIfThere;
    for (let i = batch.next; i < end; i++) {
      const hash = batch.hashes[i] as number;
      if (i > 0 && hash === batch.hashes[i - 1]) continue;
      for (const id of batch.answers.idsOf(hash)) insert.run(hash, id);
    }
    const through = end === batch.hashes.length;
    if (through) this.#placed.run(batch.upTo);
    return () => {
      this.#new += end - batch.next;
      batch.next = end;
      if (through) this.#batch = null;
    };
  }

  /** Moves the next entries of the small index to the large one, while there are too many. */
  #moveToLarge(most: number): () => void {
    if (this.#new <= this.#indexBatch * NEW_BATCHES) return () => undefined;
    const row = this.#moveEnd.get(this.#movedTo, most);
    const end = row === undefined ? HASHES : only(row);
    this.#move.run(this.#movedTo, end);
    const { changes } = this.#moved.run(this.#movedTo, end);
    return () => {
      this.#new -= Number(changes);
      this.#movedTo = row === undefined ? -1 : end;
    };
  }
}

/** The one value of a row. */
function only(row: unknown): number {
  return (row as [number])[0];
}
