import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { HASHES, keyHash } from './key-hash.ts';
import { RecentAnswers } from './recent-answers.ts';
import { NO_SCOPE } from './schema.ts';

/** Answers gathered in memory before they go into the index on the disk, together and in order. */
export const PLACE_AT = 65_536;
/** Index entries written for each answer, once so many have been gathered: the batch is through before the next one is full. */
const PLACED_PER_ANSWER = 2;
const LEAST_PLACED = 1_024;
/** Batches that the small index holds before its entries move on into the large one. */
const NEW_BATCHES = 16;

/** A batch on its way into the index. `hashes` ascending, those before `next` are in. */
interface Batch { readonly answers: RecentAnswers; readonly hashes: Float64Array; readonly purges: number; next: number; readonly upTo: number }

/**
 * Where the answers with a hash stand. An index kept up to date answer by answer would write a page of the disk for
 * nearly every one of them, because keys come in no order; so the latest are found in memory, and 65,536 at a time go
 * into a small index in its own order, a slice with each transaction. From there they move on into the large one, round
 * after round in order of hash: a page of it then gains many entries at once, however large it is. A crash loses nothing:
 * what lies behind `placed.up_to` is read again when the ledger is opened.
 */
export class Places {
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
  /** The hash of each key that is seen for the first time. */
  readonly #onHash: (hash: number) => void;
  #recent = new RecentAnswers();
  /** `placed.purges` when the gathering of `#recent` began. */
  #recentPurges: number;
  #batch: Batch | null = null;
  /** Every answer up to this one is in the index or in memory. */
  #seen: number;
  /** Entries of the small index when they were last counted, and since; what other jobs do to it shows at the next count. */
  #new: number;
  /** Entries of the small index up to this hash have moved on in this round. */
  #movedTo = -1;

  readonly #placeAt: number;

  constructor(db: DatabaseSync, placeAt: number, onHash: (hash: number) => void) {
    this.#placeAt = placeAt;
    const prepare = (sql: string): StatementSync => {
      const statement = db.prepare(sql);
      statement.setReturnArrays(true);
      return statement;
    };
    this.#find = prepare('SELECT answer FROM places WHERE hash = ?');
    this.#findNew = prepare('SELECT answer FROM new_places WHERE hash = ?');
    this.#insert = prepare('INSERT OR IGNORE INTO new_places (hash, answer) VALUES (?, ?)');
    this.#insertIfThere = prepare(`INSERT OR IGNORE INTO new_places (hash, answer) SELECT ?1, ?2 WHERE EXISTS (SELECT 1 FROM answers WHERE id = ?2 AND scope <> ${NO_SCOPE})`);
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
    this.readLater();
  }

  /** Answers that may have this hash, the newest first. */
  *idsOf(hash: number): Generator<number, void, void> {
    yield* this.#recent.idsOf(hash);
    if (this.#batch !== null) yield* this.#batch.answers.idsOf(hash);
    const placed = [...this.#findNew.all(hash), ...this.#find.all(hash)].map(only);
    // Another job may have placed, and moved on, what is newer than what we place.
    yield* placed.length > 1 ? placed.sort((a, b) => b - a) : placed;
  }

  /** Takes note of what others have added. */
  readLater(): void {
    for (const row of this.#later.iterate(this.#seen)) {
      const [id, scope, key] = row as unknown as [number, number, string];
      const hash = keyHash(scope, key);
      this.add(hash, id);
      this.#onHash(hash);
    }
  }

  /** An answer of our own, committed. */
  add(hash: number, id: number): void {
    this.#recent.add(hash, id);
    this.#seen = id;
  }

  /**
   * Writes the next slice of a batch into the index, within the caller's transaction and after `readLater` in it.
   * Returns what to call once that is committed.
   */
  place(answers: number): () => void {
    const purges = only(this.#purged.get());
    if (this.#batch === null && this.#recent.size >= this.#placeAt) this.#startBatch(purges);
    const most = Math.max(Math.min(LEAST_PLACED, this.#placeAt / 4), answers * PLACED_PER_ANSWER);
    const placed = this.#placeBatch(most, purges);
    const moved = this.#moveOn(most);
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
    // Of an answer that was purged since it was gathered nothing may come back, not even the hash of its key.
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

  /** The next entries of the small index move into the large one, while there are too many. */
  #moveOn(most: number): () => void {
    if (this.#new <= this.#placeAt * NEW_BATCHES) return () => undefined;
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
