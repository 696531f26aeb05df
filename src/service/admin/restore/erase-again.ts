/** Applies every known erasure to restored rows, so that a backup brings no erased person back. */
import { hash } from 'node:crypto';
import type { SparseRecord } from '../../records/whole-record.ts';
import { isDamage } from '../check/scan.ts';
import type { Row } from '../check/tables.ts';
import { readErasures, logErasures } from '../../erasure/erasure-log.ts';
import { addressesOf } from '../../store/identity/other-addresses.ts';
import { numbersOf } from '../../store/identity/other-numbers.ts';
import { tracesOf } from '../../store/rows/person-writer.ts';
import { personNamedIn } from '../../store/rows/signal-person.ts';
import { eraseRows, suppress } from '../../erasure/suppress.ts';
import { suppressionTest } from '../../store/identity/suppressions.ts';
import type { Store } from '../../store/store.ts';
import type { Salvaged, Stores } from './salvage.ts';

/**
 * Copies every known erasure into the new store: from the damaged store, the backup and the erasure log. Returns false when neither the log
 * nor the damaged store has the complete list.
 * @param path path of the store
 */
export function copyErasures({ old, backup, fresh }: Stores, path: string): boolean {
  const put = fresh.prepare(
    'INSERT INTO suppressions (email_sha256, at) VALUES (?, ?) ON CONFLICT DO UPDATE SET at = max(at, excluded.at)',
  );
  let isComplete = false;
  for (const store of [old, backup]) {
    // Table and index both have all columns, and either may be damaged.
    for (const by of ['NOT INDEXED', 'INDEXED BY suppressions_by_time']) {
      const isRead =
        store !== null &&
        readAll(store, `SELECT email_sha256, at FROM suppressions ${by}`, (row) =>
          put.run(row['email_sha256'] as Uint8Array, row['at'] as number),
        );
      isComplete ||= isRead && store === old;
    }
  }
  const logged = readErasures(path);
  for (const { digest, atMs } of logged ?? []) put.run(digest, atMs);
  return isComplete || logged !== null;
}

/** Returns false when damage ended the read. */
function readAll(store: Store, sql: string, take: (row: Row) => void): boolean {
  try {
    for (const row of store.prepare(sql).iterate()) take(row);
    return true;
  } catch (error) {
    if (!isDamage(error)) throw error;
    return false;
  }
}

/** Whether a row of a backup may be restored. People always may: they are needed to find their other rows, and are erased afterwards. */
export function restoreTest({ backup, fresh }: Stores): (table: string, row: Row) => boolean {
  const isSuppressed = suppressionTest(fresh, () => true);
  const isErased = fresh.prepare('SELECT 1 FROM suppressions WHERE email_sha256 = ?');
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

/** Erases restored people who had been erased, with everything that belongs to them. @returns the number of people */
export function eraseAgain(fresh: Store, path: string, done: readonly Salvaged[]): number {
  const log = (digests: readonly Uint8Array[], atMs: number): void => logErasures(path, digests, atMs);
  const find = fresh.prepare('SELECT * FROM people WHERE seq = ?');
  const digestOf = fresh.prepare('SELECT 1 FROM suppressions WHERE email_sha256 = ?');
  const isSuppressed = suppressionTest(fresh, () => true);
  const emails = new Set<string>();
  const rowsToErase: number[] = [];
  for (const [seq] of done.find(({ table }) => table === 'people')?.restored ?? []) {
    const row = find.get(seq as number) as Row;
    const doc = JSON.parse(row['doc'] as string) as SparseRecord;
    const [email, ...otherAddresses] = addressesOf(doc);
    const suppressed = addressesOf(doc).filter((address) => digestOf.get(hash('sha256', address, 'buffer')) !== undefined);
    for (const address of suppressed) emails.add(address);
    const named = {
      email: email ?? null,
      profile: row['profile'] as string | null,
      id: row['id'] as string,
      others: otherAddresses,
      mobiles: numbersOf(doc, 'mobile'),
      nameKey: row['name_key'] as string,
    };
    if (suppressed.length === 0 && isSuppressed(tracesOf(named))) rowsToErase.push(seq as number);
  }
  const erased = eraseRows(fresh, rowsToErase, log);
  // Runs even without people, because it also searches restored answers, signals and deliveries.
  const { people } = suppress(fresh, emails, undefined, log);
  fresh.exec('DELETE FROM job_changes WHERE NOT EXISTS (SELECT 1 FROM people WHERE id = person)');
  return erased + people;
}
