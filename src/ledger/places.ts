import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { keyHash } from './key-hash.ts';
import { RecentAnswers } from './recent-answers.ts';

/** Answers gathered in memory before they go into the index on the disk, together and in order. */
export const PLACE_AT = 65_536;
/** Index entries written for each answer, once so many have been gathered: the batch is through before the next one is full. */
const PLACED_PER_ANSWER = 2;
const LEAST_PLACED = 1_024;

/** A batch on its way into the index. `hashes` ascending, those before `next` are in. */
interface Batch { readonly answers: RecentAnswers; readonly hashes: Float64Array; next: number; readonly upTo: number }

/**
 * Where the answers with a hash stand. An index kept up to date answer by answer would write a page of the disk for
 * nearly every one of them, because keys come in no order; so the latest are found in memory, and 65,536 at a time go
 * into the index in its own order, a slice with each transaction. A crash loses nothing of it: what lies behind
 * `placed` is read again when the ledger is opened.
 */
export class Places {
  readonly #find: StatementSync;
  readonly #insert: StatementSync;
  readonly #placed: StatementSync;
  readonly #later: StatementSync;
  /** Each key that is seen for the first time. */
  readonly #onKey: (scope: number, key: string) => void;
  #recent = new RecentAnswers();
  #batch: Batch | null = null;
  /** Every answer up to this one is in the index or in memory. */
  #seen: number;

  readonly #placeAt: number;

  constructor(db: DatabaseSync, placeAt: number, onKey: (scope: number, key: string) => void) {
    this.#placeAt = placeAt;
    this.#find = db.prepare('SELECT answer FROM places WHERE hash = ? ORDER BY answer DESC');
    this.#find.setReturnArrays(true);
    this.#insert = db.prepare('INSERT OR IGNORE INTO places (hash, answer) VALUES (?, ?)');
    this.#placed = db.prepare('UPDATE placed SET up_to = max(up_to, ?)');
    this.#later = db.prepare('SELECT id, scope, key FROM answers WHERE id > ? ORDER BY id');
    this.#onKey = onKey;
    this.#seen = Number(db.prepare('SELECT up_to FROM placed').get()?.['up_to'] ?? 0);
    this.readLater();
  }

  /** Answers that may have this hash, the newest first. */
  *idsOf(hash: number): Generator<number, void, void> {
    yield* this.#recent.idsOf(hash);
    if (this.#batch !== null) yield* this.#batch.answers.idsOf(hash);
    for (const row of this.#find.all(hash)) yield (row as unknown as [number])[0];
  }

  /** Takes note of what others have added. */
  readLater(): void {
    for (const row of this.#later.iterate(this.#seen)) {
      const { id, scope, key } = row as { id: number; scope: number; key: string };
      this.add(keyHash(scope, key), id);
      this.#onKey(scope, key);
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
    if (this.#batch === null && this.#recent.size >= this.#placeAt) {
      this.#batch = { answers: this.#recent, hashes: this.#recent.sortedHashes(), next: 0, upTo: this.#seen };
      this.#recent = new RecentAnswers();
    }
    const batch = this.#batch;
    if (batch === null) return () => undefined;
    const end = Math.min(batch.hashes.length, batch.next + Math.max(Math.min(LEAST_PLACED, this.#placeAt / 4), answers * PLACED_PER_ANSWER));
    for (let i = batch.next; i < end; i++) {
      const hash = batch.hashes[i] as number;
      if (i > 0 && hash === batch.hashes[i - 1]) continue;
      for (const id of batch.answers.idsOf(hash)) this.#insert.run(hash, id);
    }
    const through = end === batch.hashes.length;
    if (through) this.#placed.run(batch.upTo);
    return () => {
      batch.next = end;
      if (through) this.#batch = null;
    };
  }
}
