/** Carries every known erasure into the new store, so that a backup brings no erased person back. */
import type { DatabaseSync } from 'node:sqlite';
import type { SparseRecord } from '../../records/whole-record.ts';
import { isDamage } from '../check/scan.ts';
import type { Row } from '../check/tables.ts';
import { readErasures, type Erasure } from '../../erasure/erasure-log.ts';
import { putDigests } from '../../erasure/open-erasure.ts';
import { personNamedIn } from '../../store/rows/signal-person.ts';
import { suppressionTest } from '../../store/identity/suppressions.ts';
import type { Store } from '../../store/store.ts';
import type { Files } from './salvage.ts';

/**
 * Copies every known erasure into the new store: from the damaged books, those of the backup, and the erasure log. Returns false when
 * neither the log nor the damaged books have the complete list.
 * @param path path of the store
 */
export function copyErasures({ old, backup }: Files, fresh: Store, path: string): boolean {
  let isComplete = false;
  for (const books of [old, backup]) {
    // Table and index both have all columns, and either may be damaged.
    for (const by of ['NOT INDEXED', 'INDEXED BY suppressions_by_time']) {
      const read = { isWhole: books !== null };
      if (books !== null) putDigests(fresh, erasuresOf(books, by, read));
      isComplete ||= read.isWhole && books === old;
    }
  }
  const logged = readErasures(path);
  putDigests(fresh, logged ?? []);
  return isComplete || logged !== null;
}

/** Reads until damage ends it. @param read has whether it was whole */
function* erasuresOf(books: DatabaseSync, by: string, read: { isWhole: boolean }): Generator<Erasure> {
  try {
    yield* books
      .prepare(`SELECT email_sha256 AS digest, at AS atMs FROM suppressions ${by}`)
      .iterate() as Iterable<unknown> as Iterable<Erasure>;
  } catch (error) {
    if (!isDamage(error)) throw error;
    read.isWhole = false;
  }
}

/** Whether a row of a backup may be restored. People always may: they are needed to find their other rows, and are erased afterwards. */
export function restoreTest(backup: Store | null, fresh: Store): (table: string, row: Row) => boolean {
  const isSuppressed = suppressionTest(fresh, () => true);
  const isErased = fresh.books.prepare('SELECT 1 FROM suppressions WHERE email_sha256 = ?');
  // The keys come from the backup: the damaged store no longer has those of an erased signal.
  const keysOf = backup?.prepare('SELECT key FROM signal_keys WHERE signal = ?');
  const namesErased = (signal: number): boolean =>
    keysOf?.all(signal).some(({ key }) => isErased.get(key as Uint8Array) !== undefined) ?? false;
  return (table, row) => {
    if (table === 'deliveries') return !isSuppressed({ emails: [row['email'] as string] });
    if (table === 'signals')
      return !namesErased(row['seq'] as number) && !isSuppressed(personNamedIn(JSON.parse(row['doc'] as string) as SparseRecord).traces);
    return true;
  };
}
