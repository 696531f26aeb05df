/** Removes erased people from stored answers. */
import { zstdCompressSync } from 'node:zlib';
import { shortTransactions } from '../../sqlite/transaction.ts';
import { answerIn, ERASED_STATUS, textsOf } from '../calls/answer-rows.ts';
import { erasedSince, type ErasedSince } from '../store/identity/erased-since.ts';
import { cutVerification, compressJson, toRow } from '../verify/verification-rows.ts';
import type { Store } from '../store/store.ts';

type Row = Readonly<Record<string, unknown>>;

/** Blocks of answers, or verifications, in one transaction. Each takes some milliseconds, for which paid answers wait. */
const AT_ONCE = 4;

/** Answers to erase, by the position of their block. Null when the block is damaged, so that its people are unknown. */
type Gone = Map<number, Row[] | null>;

/**
 * Erases the text of stored answers that name an erased person: their Idempotency-Key gets 451 from then on. Removes the people from
 * asynchronous verifications; unreadable data is dropped. It reads without a lock, so that a service goes on meanwhile. The service itself
 * checks answers that it writes or repeats after the erasure.
 */
export function forgetAnswers(store: Store): void {
  const erased = erasedSince(store);
  const gone = goneAnswers(store, erased);
  const ids: string[] = [];
  for (const found of store.books.prepare('SELECT * FROM verifications').iterate()) {
    const row = readable(toRow, found);
    if (row === null || cutVerification(row, erased) !== row) ids.push(found['id'] as string);
  }
  // The erasure stays open until all is done, so a crash in between is made good by the next start.
  shortTransactions(store.books, [...gone], AT_ONCE, answerEraser(store));
  shortTransactions(store.books, ids, AT_ONCE, verificationCutter(store));
}

function goneAnswers(store: Store, erased: ErasedSince): Gone {
  const gone: Gone = new Map();
  const block = store.books.prepare('SELECT texts FROM answer_blocks WHERE position = ?');
  let position = 0;
  let texts: Uint8Array<ArrayBuffer> | null = null;
  // The answers of a block are concatenated.
  for (const row of store.books
    .prepare('SELECT seq, at, status, headers, named, block, text_from, text_to FROM answers WHERE block IS NOT NULL ORDER BY seq')
    .iterate()) {
    if (row['block'] !== position) {
      position = row['block'] as number;
      const found = block.get(position);
      texts = found === undefined ? null : readable(textsOf, found);
      if (found !== undefined && texts === null) gone.set(position, null);
    }
    if (texts === null) continue;
    const bytes = texts;
    const answer = readable((one) => answerIn(bytes, one), row);
    if (answer !== null && !erased.answer(answer, row['at'] as number)) continue;
    const others = gone.get(position);
    if (others === undefined) gone.set(position, [row]);
    else others?.push(row);
  }
  return gone;
}

function answerEraser(store: Store): (gone: readonly [position: number, rows: readonly Row[] | null]) => void {
  const block = store.books.prepare('SELECT texts FROM answer_blocks WHERE position = ?');
  const keep = store.books.prepare('UPDATE answer_blocks SET texts = ? WHERE position = ?');
  const drop = store.books.prepare('DELETE FROM answer_blocks WHERE position = ?');
  const erase = store.books.prepare(
    `UPDATE answers SET status = ${ERASED_STATUS}, headers = NULL, named = NULL, sealed = NULL, block = NULL WHERE seq = ? AND block = ?`,
  );
  return ([position, rows]) => {
    const found = block.get(position);
    const texts = found === undefined || rows === null ? null : textsOf(found);
    if (texts === null || rows === null) {
      drop.run(position);
      return;
    }
    for (const row of rows) {
      texts.fill(' '.charCodeAt(0), row['text_from'] as number, row['text_to'] as number);
      erase.run(row['seq'] as number, position);
    }
    keep.run(zstdCompressSync(texts), position);
  };
}

function verificationCutter(store: Store): (id: string) => void {
  const erased = erasedSince(store);
  const select = store.books.prepare('SELECT * FROM verifications WHERE id = ?');
  const drop = store.books.prepare('DELETE FROM verifications WHERE id = ?');
  const update = store.books.prepare('UPDATE verifications SET request = ?, results = ? WHERE id = ?');
  return (id) => {
    // The verification may have continued since it was read.
    const found = select.get(id);
    if (found === undefined) return;
    const row = readable(toRow, found);
    if (row === null) {
      drop.run(id);
      return;
    }
    const left = cutVerification(row, erased);
    update.run(compressJson(left.request), compressJson(left.results), id);
  };
}

/** Parses a row; null when it is damaged, so that its people are unknown. A damaged row must not stop the erasure of the others. */
function readable<T>(read: (row: Row) => T, row: Row): T | null {
  try {
    return read(row);
  } catch {
    return null;
  }
}
