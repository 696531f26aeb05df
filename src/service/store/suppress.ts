/** Erasure: the person is removed, with every signal about them and what became of mails to them, and remembered as digests alone so that they do not come back. */
import { normaliseEmail } from '../../verification/address.ts';
import { words } from '../fold.ts';
import type { SparseRecord } from '../records.ts';
import { IndexWriter } from '../search/index-writer.ts';
import { signalEraser, suppressedSignalEraser } from './erase-signals.ts';
import { newestAsked } from './erased-since.ts';
import { forgetAnswers } from './forget-answers.ts';
import { addressesOf, isOfFunction } from './other-addresses.ts';
import { numbersOf, numberTest } from './other-numbers.ts';
import { foundOf, samePersonFinder, type PersonFound, type SamePerson } from './same-person.ts';
import { suppressionKeys, suppressionTest, wordsWith, type Traces } from './suppressions.ts';
import { transaction } from '../../sqlite/transaction.ts';
import { forgetDeliveries } from '../webhooks/erased.ts';
import { JobChangeRows } from '../webhooks/job-change-rows.ts';
import type { Store } from './store.ts';

export interface SuppressCount {
  /** Addresses that are suppressed from now on and were not before. */
  readonly suppressed: number;
  /** People who were in the store. */
  readonly people: number;
  readonly signals: number;
  /** Addresses of whom it was known what became of mails to them. */
  readonly deliveries: number;
  /** What was given and is no address. */
  readonly invalid: readonly string[];
}

/**
 * Moves what was erased out of the write-ahead log too. False: somebody was reading or writing meanwhile; the log is emptied by
 * whoever closes the store last, at the latest.
 */
export function forgetLog(store: Store): boolean {
  return store.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.['busy'] === 0;
}

/**
 * Erases the people with these addresses, whichever of their addresses it is, in one transaction, and forgets answers that name them.
 * @param nowMs default: when nobody else writes any more, for the time before that may be a minute older; and no earlier than any answer that is remembered, verification, delivery or batch job, be it by a clock that was put back since. Else whoever asks who was erased since then would not hear of it.
 * @param log is given the digests before they are committed: what it throws undoes the erasure
 */
export function suppress(store: Store, emails: Iterable<string>, nowMs?: number, log: (digests: readonly Uint8Array[], atMs: number) => void = () => undefined): SuppressCount {
  const isKnown = suppressionTest(store);
  const newest = newestAsked(store);
  const put = store.prepare('INSERT INTO suppressions (email_sha256, at) VALUES (?, ?) ON CONFLICT DO UPDATE SET at = max(at, excluded.at)');
  const index = new IndexWriter(store);
  const find = samePersonFinder(store);
  const erase = eraser(store, index);
  const eraseSuppressed = suppressedSignalEraser(store);
  const done = transaction(store, () => {
    const atMs = nowMs ?? Math.max(Date.now(), newest());
    const digests: Uint8Array[] = [];
    const count = { suppressed: 0, people: 0, signals: 0, deliveries: 0, invalid: [] as string[] };
    for (const address of emails) {
      const email = normaliseEmail(address);
      if (email === null) {
        count.invalid.push(address);
        continue;
      }
      if (!isKnown({ emails: [email] })) count.suppressed++;
      const { people, signals, deliveries, traces } = erase(find(email));
      count.people += people;
      count.signals += signals;
      count.deliveries += deliveries;
      const keys = traces.flatMap(suppressionKeys);
      for (const key of keys) put.run(key, atMs);
      digests.push(...keys);
    }
    const others = eraseSuppressed();
    count.signals += others.length;
    for (const domain of others) index.company(domain);
    index.flush();
    log(digests, atMs);
    return count;
  });
  forgetAnswers(store);
  forgetDeliveries(store, nowMs ?? Date.now());
  return done;
}

/** Erases rows of people as `suppress` does, by themselves: whoever is known to be suppressed by something else than an address. Within a transaction of its own. @returns how many there were */
export function eraseRows(store: Store, seqs: readonly number[], log: (digests: readonly Uint8Array[], atMs: number) => void): number {
  const index = new IndexWriter(store);
  const erase = eraser(store, index);
  const put = store.prepare('INSERT INTO suppressions (email_sha256, at) VALUES (?, ?) ON CONFLICT DO UPDATE SET at = max(at, excluded.at)');
  const find = store.prepare('SELECT seq, company_domain, profile, doc, field_sources FROM people WHERE seq = ?');
  const idsOf = store.prepare("SELECT substr(key, 4) AS id FROM other_keys WHERE person = ? AND key LIKE 'id:%'");
  return transaction(store, () => {
    const atMs = Date.now();
    const rows = seqs.map((seq) => find.get(seq)).filter((row) => row !== undefined);
    const keys = rows.flatMap((row) => {
      const found = foundOf(row, JSON.parse(row['doc'] as string) as SparseRecord, idsOf.all(row['seq'] as number).map(({ id }) => id as string));
      return erase({ rows: [found], addresses: [], profiles: row['profile'] === null ? [] : [row['profile'] as string] }).traces.flatMap(suppressionKeys);
    });
    for (const key of keys) put.run(key, atMs);
    index.flush();
    log(keys, atMs);
    return rows.length;
  });
}

/** Of somebody with addresses of more functions the first ones are remembered. */
const MAX_FUNCTIONS = 20;

/** What others may have as well is theirs with their name; an id without any name is theirs by itself. */
function tracesOfRow({ person, ids, names }: PersonFound): Traces[] {
  const keys = [...ids, ...addressesOf(person).filter((address) => isOfFunction(address)).slice(0, MAX_FUNCTIONS)];
  return [{ keyWords: keys.flatMap((key) => names.flatMap((name) => wordsWith(key, name))) }, ...ids.map((id) => (names.some((name) => words(name).length > 0) ? { knownId: id } : { id }))];
}

interface Erased {
  readonly people: number;
  readonly signals: number;
  readonly deliveries: number;
  /** What they are recognised by from now on. */
  readonly traces: readonly Traces[];
}

function eraser(store: Store, index: IndexWriter): (person: SamePerson) => Erased {
  const erasePerson = store.prepare('DELETE FROM people WHERE seq = ?');
  const eraseOthers = ['other_addresses', 'other_numbers', 'other_keys'].map((table) => store.prepare(`DELETE FROM ${table} WHERE person = ?`));
  const termsOf = store.prepare('DELETE FROM person_term_lists WHERE person = ? RETURNING terms');
  const eraseSignals = signalEraser(store);
  const changes = new JobChangeRows(store);
  const isKept = numberTest(store);
  const eraseDeliveries = store.prepare('DELETE FROM deliveries WHERE email = ?');
  return (person) => {
    const { rows, addresses, profiles } = person;
    for (const { seq, person: { id } } of rows) {
      index.removePerson(seq, (termsOf.get(seq)?.['terms'] as Uint8Array | undefined) ?? null);
      erasePerson.run(seq);
      if (typeof id === 'string') changes.forget(id);
      for (const statement of eraseOthers) statement.run(seq);
    }
    const erased = eraseSignals(person);
    for (const domain of erased) index.company(domain);
    const deliveries = addresses.reduce((sum, address) => sum + Number(eraseDeliveries.run(address).changes), 0);
    // A number that others have, too, and that of an office are not this person's alone: whoever comes with one later may be a colleague.
    const mobiles = new Set(rows.flatMap((row) => numbersOf(row.person, 'mobile')).filter((number) => !isKept(number)));
    const numbers = rows.flatMap((row) => numbersOf(row.person)).filter((number) => !mobiles.has(number));
    const traces = [{ emails: addresses }, ...profiles.map((profile) => ({ profile })), { mobiles: [...mobiles], numbers }, ...rows.flatMap(tracesOfRow)];
    return { people: rows.length, signals: erased.length, deliveries, traces };
  };
}
