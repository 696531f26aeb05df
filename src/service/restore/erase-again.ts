/** Erasures since a backup, on what came back from it: nobody who was erased comes back. */
import { hash } from 'node:crypto';
import type { SparseRecord } from '../records.ts';
import { isDamage } from '../check/scan.ts';
import type { Row } from '../check/tables.ts';
import { readErasures, logErasures } from '../store/erasure-log.ts';
import { addressesOf } from '../store/other-addresses.ts';
import { numbersOf } from '../store/other-numbers.ts';
import { tracesOf } from '../store/person-writer.ts';
import { namedIn } from '../store/signal-person.ts';
import { eraseRows, suppress } from '../store/suppress.ts';
import { suppressionTest } from '../store/suppressions.ts';
import type { Store } from '../store/store.ts';
import type { Salvaged, Stores } from './salvage.ts';

/** Brings every erasure that is known anywhere into the new store: those of the damaged one, of the backup, and of the log. False: neither a log nor the damaged store has all of them. @param path of the store */
export function bringErasures({ old, backup, fresh }: Stores, path: string): boolean {
  const put = fresh.prepare('INSERT INTO suppressions (email_sha256, at) VALUES (?, ?) ON CONFLICT DO UPDATE SET at = max(at, excluded.at)');
  let isWhole = false;
  for (const store of [old, backup]) {
    // The index has all of it as well: either may be damaged.
    for (const by of ['NOT INDEXED', 'INDEXED BY suppressions_by_time']) {
      const isRead = store !== null && readAll(store, `SELECT email_sha256, at FROM suppressions ${by}`, (row) => put.run(row['email_sha256'] as Uint8Array, row['at'] as number));
      isWhole ||= isRead && store === old;
    }
  }
  const logged = readErasures(path);
  for (const { digest, atMs } of logged ?? []) put.run(digest, atMs);
  return isWhole || logged !== null;
}

/** False: damage ended it. */
function readAll(store: Store, sql: string, take: (row: Row) => void): boolean {
  try {
    for (const row of store.prepare(sql).iterate()) take(row);
    return true;
  } catch (error) {
    if (!isDamage(error)) throw error;
    return false;
  }
}

/** Whether a row of a backup may come back. People may, for what belongs to them is found by them: they are erased then. */
export function restoreTest({ backup, fresh }: Stores): (table: string, row: Row) => boolean {
  const isSuppressed = suppressionTest(fresh, () => true);
  const isErased = fresh.prepare('SELECT 1 FROM suppressions WHERE email_sha256 = ?');
  // The store has none of them any more where it erased the signal.
  const keysOf = backup?.prepare('SELECT key FROM signal_keys WHERE signal = ?');
  const namesErased = (signal: number): boolean => keysOf?.all(signal).some(({ key }) => isErased.get(key as Uint8Array) !== undefined) ?? false;
  return (table, row) => {
    if (table === 'deliveries') return !isSuppressed({ emails: [row['email'] as string] });
    if (table === 'signals') return !namesErased(row['seq'] as number) && !isSuppressed(namedIn(JSON.parse(row['doc'] as string) as SparseRecord).traces);
    return true;
  };
}

/** Erases whoever came back and was erased, with all that belongs to them. @returns how many people */
export function eraseAgain(fresh: Store, path: string, done: readonly Salvaged[]): number {
  const log = (digests: readonly Uint8Array[], atMs: number): void => logErasures(path, digests, atMs);
  const find = fresh.prepare('SELECT * FROM people WHERE seq = ?');
  const digestOf = fresh.prepare('SELECT 1 FROM suppressions WHERE email_sha256 = ?');
  const isSuppressed = suppressionTest(fresh, () => true);
  const emails = new Set<string>();
  const others: number[] = [];
  for (const [seq] of done.find(({ table }) => table === 'people')?.restored ?? []) {
    const row = find.get(seq as number) as Row;
    const doc = JSON.parse(row['doc'] as string) as SparseRecord;
    const [email, ...more] = addressesOf(doc);
    const known = addressesOf(doc).filter((address) => digestOf.get(hash('sha256', address, 'buffer')) !== undefined);
    for (const address of known) emails.add(address);
    const named = { email: email ?? null, profile: row['profile'] as string | null, id: row['id'] as string, others: more, mobiles: numbersOf(doc, 'mobile'), nameKey: row['name_key'] as string };
    if (known.length === 0 && isSuppressed(tracesOf(named))) others.push(seq as number);
  }
  const erased = eraseRows(fresh, others, log);
  // Also without anybody: answers, signals and deliveries that came back are looked through.
  const { people } = suppress(fresh, emails, undefined, log);
  fresh.exec('DELETE FROM job_changes WHERE NOT EXISTS (SELECT 1 FROM people WHERE id = person)');
  return erased + people;
}
