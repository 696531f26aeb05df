/**
 * An erasure changes both files, and they share no transaction. Its digests are in the books before the directory changes, so nobody comes
 * back. After a kill in between the counts of both files differ, and `catch-up.ts` erases again.
 */
import { transaction } from '../../sqlite/transaction.ts';
import type { Store } from '../store/store.ts';
import { forgetDeliveries } from '../webhooks/erase-deliveries.ts';
import type { Erasure } from './erasure-log.ts';
import { forgetAnswers } from './forget-answers.ts';

interface BooksState {
  readonly erasures: number;
  /** Epoch milliseconds; null when all erasures are done. */
  readonly openSince: number | null;
}

export function booksState({ books }: Store): BooksState {
  return books.prepare('SELECT erasures, open_since AS openSince FROM books_state').get() as unknown as BooksState;
}

export function erasuresIn(directory: Store): number {
  return directory.prepare('SELECT erasures FROM directory_state').get()?.['erasures'] as number;
}

/** Writes digests into the books. They are never set to an earlier time. */
export function putDigests({ books }: Store, erasures: Iterable<Erasure>): void {
  const put = books.prepare(
    'INSERT INTO suppressions (email_sha256, at) VALUES (?, ?) ON CONFLICT DO UPDATE SET at = max(at, excluded.at)',
  );
  transaction(books, () => {
    for (const { digest, atMs } of erasures) put.run(digest, atMs);
  });
}

/** Commits an erasure to the books, as the last step before the directory's transaction commits. */
export function beginErasure(store: Store, digests: readonly Uint8Array[], atMs: number): void {
  const { books } = store;
  transaction(books, () => {
    putDigests(
      store,
      digests.map((digest) => ({ digest, atMs })),
    );
    books.prepare('UPDATE books_state SET erasures = erasures + 1, open_since = min(coalesce(open_since, ?1), ?1)').run(atMs);
  });
  store.prepare('UPDATE directory_state SET erasures = ?').run(booksState(store).erasures);
}

/**
 * Ends the open erasures, once the directory has none of their people any more: removes them from answers and deliveries. The erasures get
 * a time after the directory's commit, so that an answer counts as older if it was read before that.
 */
export function finishErasures(store: Store, nowMs?: number): void {
  const { books } = store;
  const { erasures, openSince } = booksState(store);
  if (openSince === null) return;
  const atMs = nowMs ?? Math.max(Date.now(), newestResponse(store)());
  transaction(books, () => books.prepare('UPDATE suppressions SET at = max(at, ?) WHERE at >= ?').run(atMs, openSince));
  forgetAnswers(store);
  forgetDeliveries(store, atMs);
  // Another erasure may have begun meanwhile.
  transaction(books, () => books.prepare('UPDATE books_state SET open_since = NULL WHERE erasures = ?').run(erasures));
}

/**
 * Returns the time of the newest stored answer, verification, delivery and batch job (epoch milliseconds by any clock); 0 if there is none.
 */
export function newestResponse(store: Store): () => number {
  const newest = store.books.prepare(`
    SELECT max(at) AS at FROM (
      SELECT max(at) AS at FROM answers UNION ALL SELECT max(started_at) FROM verifications UNION ALL SELECT max(created_at)
  FROM webhook_deliveries
      UNION ALL SELECT max(max(created_at, coalesce(looked_at, 0))) FROM batches)`);
  return () => Number(newest.get()?.['at']);
}
