/** Makes the directory agree with its books: after a kill between the two files, and after one of them was replaced by an older copy. */
import type { SparseRecord } from '../records/whole-record.ts';
import { isUnreadable } from '../../sqlite/system-code.ts';
import { transaction } from '../../sqlite/transaction.ts';
import { storeFailure } from '../store/failure.ts';
import { IndexWriter } from '../store/index/index-writer.ts';
import { addressesOf } from '../store/identity/other-addresses.ts';
import { numbersOf } from '../store/identity/other-numbers.ts';
import { suppressionKeys, type Traces } from '../store/identity/suppressions.ts';
import { tracesOf } from '../store/rows/person-writer.ts';
import type { Store } from '../store/store.ts';
import { logErasures, readErasures } from './erasure-log.ts';
import { digestSignalEraser } from './erase-signals.ts';
import { booksState, erasuresIn, finishErasures, putDigests } from './open-erasure.ts';
import { eraseAddresses, eraseRows } from './suppress.ts';

/**
 * Ends what another process has left half-done. Commands that write call it before they do, and so does the service when it starts.
 * @param path path of the store
 * @throws StorageError when the store is damaged, or an import or an erasure holds the directory for too long
 */
export function catchUp(store: Store, path: string): void {
  skipNumbers(store);
  if (erasuresIn(store) === booksState(store).erasures && booksState(store).openSince === null) return;
  // An erasure under way holds the directory, so it is not taken for one that was left.
  try {
    transaction(store, () => {
      if (erasuresIn(store) !== booksState(store).erasures) eraseAgain(store, path);
    });
    finishErasures(store);
  } catch (error) {
    throw storeFailure(error, path);
  }
}

/**
 * Erases everybody whom the books or the erasure log name, within the directory's open transaction.
 * @param path path of the store
 * @param seqs the people who may be erased; default: all, who are then read
 * @returns the number of people
 */
export function eraseAgain(store: Store, path: string, seqs?: readonly number[]): number {
  putDigests(store, readErasures(path) ?? []);
  const [done, { erasures, openSince }] = [erasuresIn(store), booksState(store)];
  store.books.prepare('UPDATE books_state SET erasures = ?').run(Math.max(done, erasures));
  // After a kill only the last erasure is missing here.
  const sinceMs = erasures - done === 1 ? (openSince ?? 0) : 0;
  const log = (digests: readonly Uint8Array[], atMs: number): void => logErasures(path, digests, atMs);
  const count = (): number => Number(store.prepare('SELECT count(*) AS n FROM people').get()?.['n']);
  const people = count();
  const erased = erasedPeople(store, sinceMs, seqs);
  eraseRows(store, erased.seqs, log);
  eraseAddresses(store, erased.emails, log);
  eraseSignals(store);
  store.exec('DELETE FROM job_changes WHERE NOT EXISTS (SELECT 1 FROM people WHERE id = person)');
  return people - count();
}

/** Addresses and rows of people who were erased since then. An address also finds the person's other rows. */
function erasedPeople(
  store: Store,
  sinceMs: number,
  among?: readonly number[],
): { readonly emails: ReadonlySet<string>; readonly seqs: readonly number[] } {
  const find = store.books.prepare('SELECT 1 FROM suppressions WHERE email_sha256 = ? AND at >= ?');
  const isSuppressed = (traces: Traces): boolean => suppressionKeys(traces).some((key) => find.get(key, sinceMs) !== undefined);
  const isErased = (address: string): boolean => isSuppressed({ emails: [address] });
  const emails = new Set<string>();
  const seqs: number[] = [];
  for (const { email } of store.prepare('SELECT email FROM deliveries').iterate())
    if (isErased(email as string)) emails.add(email as string);
  const people = store.prepare('SELECT seq, id, profile, name_key, doc FROM people WHERE ?1 OR seq IN (SELECT value FROM json_each(?2))');
  for (const row of people.iterate(Number(among === undefined), JSON.stringify(among ?? []))) {
    const doc = JSON.parse(row['doc'] as string) as SparseRecord;
    const addresses = addressesOf(doc);
    const erased = addresses.filter(isErased);
    for (const address of erased) emails.add(address);
    const [email = null, ...others] = addresses;
    const named = {
      email,
      profile: row['profile'] as string | null,
      id: row['id'] as string,
      others,
      mobiles: numbersOf(doc, 'mobile'),
      nameKey: row['name_key'] as string,
    };
    if (erased.length === 0 && isSuppressed(tracesOf(named))) seqs.push(row['seq'] as number);
  }
  return { emails, seqs };
}

/** Erases signals by an address or a number that no person here has. */
function eraseSignals(store: Store): void {
  const index = new IndexWriter(store);
  const isErased = store.books.prepare('SELECT 1 FROM suppressions WHERE email_sha256 = ?');
  const erase = digestSignalEraser(store);
  const keys = store.prepare('SELECT DISTINCT key FROM signal_keys').all();
  for (const { key } of keys)
    if (isErased.get(key as Uint8Array) !== undefined) for (const domain of erase(key as Uint8Array)) index.company(domain);
  index.flush();
}

/** A webhook has passed numbers that an older directory gives again. It would miss what gets them. */
function skipNumbers(store: Store): void {
  const passed = passedNumbers(store);
  const last = store.prepare('SELECT seq FROM sqlite_sequence WHERE name = ?');
  for (const [table, seq] of Object.entries(passed) as [string, number | null][]) {
    if (seq === null || seq <= Number(last.get(table)?.['seq'] ?? 0)) continue;
    transaction(store, () => {
      store.prepare('DELETE FROM sqlite_sequence WHERE name = ?').run(table);
      store.prepare('INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)').run(table, seq);
    });
  }
}

/** The numbers that webhooks have passed, by table; none when damage hides them. */
function passedNumbers({ books }: Store): Readonly<Record<string, unknown>> {
  try {
    return books.prepare('SELECT max(signals_seq) AS signals, max(changes_seq) AS job_changes FROM webhooks').get() ?? {};
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return {};
  }
}
