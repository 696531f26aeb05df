/**
 * Erasure: removes a person with all signals about them and the deliveries to their addresses. Only digests stay, so that the person cannot
 * be imported again.
 */
import { normaliseEmail } from '../../verification/address.ts';
import { words } from '../records/normalise.ts';
import type { SparseRecord } from '../records/whole-record.ts';
import { IndexWriter } from '../store/index/index-writer.ts';
import { digestSignalEraser, signalEraser } from './erase-signals.ts';
import { beginErasure, finishErasures, newestResponse } from './open-erasure.ts';
import { addressesOf, isRoleAddress } from '../store/identity/other-addresses.ts';
import { addressPasser } from '../store/identity/shared-addresses.ts';
import { numbersOf, numberTest } from '../store/identity/other-numbers.ts';
import { foundOf, samePersonFinder, type PersonFound, type SamePerson } from '../store/identity/connected-rows.ts';
import { suppressionKey, suppressionKeys, suppressionTest, keyWithNameWords, type Traces } from '../store/identity/suppressions.ts';
import { transaction } from '../../sqlite/transaction.ts';
import { JobChangeRows } from '../store/rows/job-change-rows.ts';
import type { Store } from '../store/store.ts';

export interface SuppressCount {
  /** The number of addresses that were not suppressed before. */
  readonly suppressed: number;
  /** The number of erased people. */
  readonly people: number;
  readonly signals: number;
  /** The number of addresses whose delivery events were erased. */
  readonly deliveries: number;
  /** The number of given addresses that people of different names had: all of them are erased. */
  readonly shared: number;
  /** The given texts that are not an address. */
  readonly invalid: readonly string[];
}

/**
 * Empties the write-ahead logs, so that they no longer contain erased data. Returns false when another process was reading or writing. Then
 * the last process that closes the store empties them.
 */
export function forgetLog(store: Store): boolean {
  return [store, store.books].every((file) => file.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.['busy'] === 0);
}

/** Receives the digests of an erasure before anything of it is committed; if it throws, the erasure is rolled back. */
export type LogErasure = (digests: readonly Uint8Array[], atMs: number) => void;

/**
 * Erases the people who have one of these addresses as main, other or former address, and forgets answers that name them.
 * @param nowMs time of the erasure. The default is the time when the write lock is taken, and never before the newest stored answer,
 * verification, delivery or batch job. Otherwise a client that asks for the erasures since then would miss this one, for example after a
 * clock was set back.
 */
export function suppress(store: Store, emails: Iterable<string>, nowMs?: number, log: LogErasure = () => undefined): SuppressCount {
  const done = transaction(store, () => eraseAddresses(store, emails, log, nowMs));
  finishErasures(store, nowMs);
  return done;
}

/** Erases people by address within the directory's open transaction, which `finishErasures` must follow. */
export function eraseAddresses(store: Store, emails: Iterable<string>, log: LogErasure, nowMs?: number): SuppressCount {
  const isKnown = suppressionTest(store);
  const index = new IndexWriter(store);
  const find = samePersonFinder(store);
  const erase = eraser(store, index);
  const eraseByDigest = digestSignalEraser(store);
  const atMs = nowMs ?? Math.max(Date.now(), newestResponse(store)());
  const digests = new Map<string, Uint8Array>();
  const count = { suppressed: 0, people: 0, signals: 0, deliveries: 0, shared: 0, invalid: [] as string[] };
  for (const address of emails) {
    const email = normaliseEmail(address);
    if (email === null) {
      count.invalid.push(address);
      continue;
    }
    if (!digests.has(nameOf(suppressionKey(email))) && !isKnown({ emails: [email] })) count.suppressed++;
    const person = find(email);
    if (isShared(email, person)) count.shared++;
    const { people, signals, deliveries, traces } = erase(person);
    count.people += people;
    count.signals += signals;
    count.deliveries += deliveries;
    for (const key of traces.flatMap(suppressionKeys)) digests.set(nameOf(key), key);
  }
  const others = [...digests.values()].flatMap(eraseByDigest);
  count.signals += others.length;
  for (const domain of others) index.company(domain);
  index.flush();
  log([...digests.values()], atMs);
  beginErasure(store, [...digests.values()], atMs);
  return count;
}

/** Whether two of the people with this address have names without a common word. */
function isShared(email: string, { rows }: SamePerson): boolean {
  const names = rows
    .filter(({ person }) => addressesOf(person).includes(email))
    .map((row) => row.names.flatMap(words))
    .filter((name) => name.length > 0);
  return names.some((one, at) => names.slice(0, at).some((other) => !one.some((word) => other.includes(word))));
}

function nameOf(digest: Uint8Array): string {
  return Buffer.from(digest).toString('latin1');
}

/** Erases people by their row, as `eraseAddresses` does by address: for people who are suppressed by another key. */
export function eraseRows(store: Store, seqs: readonly number[], log: LogErasure): void {
  const index = new IndexWriter(store);
  const erase = eraser(store, index);
  const find = store.prepare('SELECT seq, company_domain, profile, doc, field_sources FROM people WHERE seq = ?');
  const idsOf = store.prepare("SELECT substr(key, 4) AS id FROM other_keys WHERE person = ? AND key LIKE 'id:%'");
  const atMs = Date.now();
  const rows = seqs.map((seq) => find.get(seq)).filter((row) => row !== undefined);
  const digests = rows.flatMap((row) => {
    const found = foundOf(
      row,
      JSON.parse(row['doc'] as string) as SparseRecord,
      idsOf.all(row['seq'] as number).map(({ id }) => id as string),
    );
    return erase({ rows: [found], addresses: [], profiles: row['profile'] === null ? [] : [row['profile'] as string] }).traces.flatMap(
      suppressionKeys,
    );
  });
  index.flush();
  log(digests, atMs);
  beginErasure(store, digests, atMs);
}

/** How many function addresses (`info@`) of a person are remembered. */
const MAX_FUNCTIONS = 20;

/** The digests of a person's keys. A shared key counts only together with a name of the person; an id without any name counts alone. */
function tracesOfRow({ person, ids, names }: PersonFound): Traces[] {
  const keys = [
    ...ids,
    ...addressesOf(person)
      .filter((address) => isRoleAddress(address))
      .slice(0, MAX_FUNCTIONS),
  ];
  return [
    { keyWords: keys.flatMap((key) => names.flatMap((name) => keyWithNameWords(key, name))) },
    ...ids.map((id) => (names.some((name) => words(name).length > 0) ? { knownId: id } : { id })),
  ];
}

interface Erased {
  readonly people: number;
  readonly signals: number;
  readonly deliveries: number;
  /** The keys by which an erased person is recognised from now on. */
  readonly traces: readonly Traces[];
}

function eraser(store: Store, index: IndexWriter): (person: SamePerson) => Erased {
  const erasePerson = store.prepare('DELETE FROM people WHERE seq = ?');
  const eraseOthers = ['other_addresses', 'other_numbers', 'other_keys'].map((table) =>
    store.prepare(`DELETE FROM ${table} WHERE person = ?`),
  );
  const termsOf = store.prepare('DELETE FROM person_term_lists WHERE person = ? RETURNING terms');
  const eraseSignals = signalEraser(store);
  const passOn = addressPasser(store);
  const changes = new JobChangeRows(store);
  const isShared = numberTest(store);
  const eraseDeliveries = store.prepare('DELETE FROM deliveries WHERE email = ?');
  return (person) => {
    const { rows, addresses, profiles } = person;
    for (const {
      seq,
      person: { id },
    } of rows) {
      index.removePerson(seq, (termsOf.get(seq)?.['terms'] as Uint8Array | undefined) ?? null);
      erasePerson.run(seq);
      if (typeof id === 'string') changes.forget(id);
      for (const statement of eraseOthers) statement.run(seq);
    }
    for (const { person: one } of rows) if (typeof one['email'] === 'string') passOn(one['email']);
    const erased = eraseSignals(person);
    for (const domain of erased) index.company(domain);
    const deliveries = addresses.reduce((sum, address) => sum + Number(eraseDeliveries.run(address).changes), 0);
    // Numbers that other people or an office have do not identify this person alone: a later row with one may be a colleague.
    const mobiles = new Set(rows.flatMap((row) => numbersOf(row.person, 'mobile')).filter((number) => !isShared(number)));
    const numbers = rows.flatMap((row) => numbersOf(row.person)).filter((number) => !mobiles.has(number));
    const traces = [
      { emails: addresses },
      ...profiles.map((profile) => ({ profile })),
      { mobiles: [...mobiles], numbers },
      ...rows.flatMap(tracesOfRow),
    ];
    return { people: rows.length, signals: erased.length, deliveries, traces };
  };
}
