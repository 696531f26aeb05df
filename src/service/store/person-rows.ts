/** People's rows, with what is kept beside them: found, added and changed. */
import type { StatementSync } from 'node:sqlite';
import { words } from '../fold.ts';
import type { IndexWriter } from '../search/index-writer.ts';
import { NO_HEADCOUNT, type SortKeys } from '../search/sort-keys.ts';
import type { TermSpan, TermTable } from '../search/term-table.ts';
import { namedId, ownId } from './ids.ts';
import { asideOf } from './kept-columns.ts';
import { AS_TEXT, type Texts } from './kept-texts.ts';
import { isPartOf } from './names-told.ts';
import { isOfFunction } from './other-addresses.ts';
import { idAsKey, profileAsKey } from './other-keys.ts';
import { otherNumberWriter } from './other-numbers.ts';
import type { ColumnValue } from './prepared.ts';
import { newFieldSources, PERSON_KEPT_COLUMNS, type PersonKeys, type PreparedPerson } from './prepared-person.ts';
import { SharedKeys } from './shared-keys.ts';
import type { Store } from './store.ts';

export type Row = Readonly<Record<string, unknown>>;

/** `row` null: they are new. `isTaken`: their main address is somebody else's, and whoever has it keeps it. */
export interface Found {
  readonly row: Row | null;
  readonly isTaken: boolean;
}

/** What is asked of somebody who is found. */
const FOUND = 'seq, name_key, profile, company_domain, doc, source, observed_at, field_sources';

/** What a row is to hold, and what is kept beside it. */
export interface NewRow {
  readonly columns: readonly (ColumnValue | Texts)[];
  readonly domain: string | null;
  readonly keys: SortKeys;
  /** Addresses and numbers beside the main ones. */
  readonly others: readonly string[];
  readonly otherNumbers: readonly string[];
  /** Former profiles and other ids. */
  readonly otherKeys: readonly string[];
}

export class PersonRows {
  readonly #index: IndexWriter;
  readonly #addresses: SharedKeys;
  readonly #keys: SharedKeys;
  readonly #putNumbers;
  readonly #statements;

  constructor(store: Store, index: IndexWriter) {
    this.#index = index;
    this.#addresses = new SharedKeys(store, 'other_addresses', index);
    this.#keys = new SharedKeys(store, 'other_keys', index);
    this.#putNumbers = otherNumberWriter(store);
    this.#statements = {
      byEmail: store.prepare(`SELECT ${FOUND} FROM people WHERE email = ?`),
      byProfile: store.prepare(`SELECT ${FOUND} FROM people WHERE profile = ? ORDER BY seq LIMIT 1`),
      byId: store.prepare(`SELECT ${FOUND} FROM people WHERE id = ?`),
      // Whoever has the address is who is found by it.
      same: store.prepare(`SELECT 1 FROM people WHERE email = ? AND doc = ${AS_TEXT} AND observed_at = ? AND company_domain IS ? AND field_sources IS ?`),
      byName: store.prepare(`SELECT ${FOUND} FROM people WHERE name_key = ? AND company_domain = ? ORDER BY id LIMIT 2`),
      hasProfile: store.prepare('SELECT 1 FROM people WHERE profile = ?'),
      // The company's headcount is what counts, and a store of before has this column.
      insert: store.prepare(`INSERT INTO people (headcount, ${PERSON_KEPT_COLUMNS.join(', ')}) VALUES (${NO_HEADCOUNT}, ${PERSON_KEPT_COLUMNS.map((name) => (name === 'doc' ? AS_TEXT : '?')).join(', ')}) ON CONFLICT DO NOTHING`),
      update: personUpdate(store),
      terms: store.prepare('SELECT terms FROM person_term_lists WHERE person = ?'),
      keepTerms: store.prepare('INSERT OR REPLACE INTO person_term_lists (person, terms) VALUES (?, ?)'),
    };
  }

  /**
   * Who this is, by the best of what is given: address, profile, id; a name alone is many people's, and one of a company's as a rule. Where a company has
   * several of that name, it is who was put here by no more than that before. By an address beside the main one, a former profile or an id nobody is found who is called otherwise;
   * nor by a main address that is a function's, or where another profile says, too, that it has passed on. Where it is another name alone, whoever else is led to comes first.
   * Of those who share an address a few are looked at: any of the others is known by the id that was made of all that they came with.
   */
  find(person: PreparedPerson): Found {
    const { email, profile, id, name, domain, newId } = person;
    const { byEmail, byId, byName } = this.#statements;
    const main = email === null ? undefined : byEmail.get(email);
    const claim = main === undefined ? 'none' : claimOf(person, main);
    if (claim === 'good') return { row: main ?? null, isTaken: false };
    const row = this.#byOtherKeys(person) ?? (claim === 'doubtful' ? main : undefined) ?? (main === undefined ? undefined : [byId.get(ownId(person))].find((one) => one !== undefined && mayBe(person)(one)));
    if (row !== undefined || email !== null || profile !== null || id !== null) return { row: row ?? null, isTaken: main !== undefined && row?.['seq'] !== main['seq'] };
    const same = byName.all(name, domain);
    if (same.length === 1) return { row: same[0] ?? null, isTaken: false };
    const before = same.length === 0 ? undefined : byId.get(newId);
    return { row: before?.['name_key'] === name && before['company_domain'] === domain ? before : null, isTaken: false };
  }

  #byOtherKeys(person: PreparedPerson): Row | undefined {
    const { email, profile, id } = person;
    return (
      (profile === null ? undefined : this.#statements.byProfile.get(profile)) ?? (email === null ? undefined : this.#addresses.find(email, mayBe(person))) ??
      (profile === null ? undefined : this.#keys.find(profileAsKey(profile), isCalledSo(person))) ?? (id === null ? undefined : this.#byId(person, id))
    );
  }

  /** Whether somebody is found by their address of whom all that is kept is what they come with again. @param text of theirs */
  isKept(person: PreparedPerson, text: Texts): boolean {
    const { email, domain, atMs, learntMs } = person;
    return email !== null && learntMs === null && this.#statements.same.get(email, text, atMs, domain, newFieldSources(person)) !== undefined;
  }

  /** Who has this id, or one that they had to be given instead: some are too long, and some are another's. */
  #byId(person: PreparedPerson, id: string): Row | undefined {
    const { byId } = this.#statements;
    const { email, profile, newId, nameKey } = person;
    const found = byId.get(id) ?? (email === null && profile === null && newId !== id ? byId.get(newId) : undefined);
    if (found !== undefined && mayBe(person)(found)) return found;
    return this.#keys.find(idAsKey(id), mayBe(person)) ?? (found === undefined ? undefined : byId.get(namedId(id, nameKey)));
  }

  /** Whether nobody would be found by these keys unless by the main address or the id: `add` sees that by itself. */
  mayBeNew({ email, profile, id }: PersonKeys): boolean {
    if (email === null && id === null) return false;
    if (email !== null && this.#addresses.has(email)) return false;
    if (profile !== null && (this.#statements.hasProfile.get(profile) !== undefined || this.#keys.has(profileAsKey(profile)))) return false;
    return id === null || !this.#keys.has(idAsKey(id));
  }

  /** False: somebody has this address or this id, and nothing is changed. */
  add(row: NewRow, table: TermTable, span: TermSpan): boolean {
    const { changes, lastInsertRowid } = this.#statements.insert.run(...row.columns);
    if (changes === 0) return false;
    this.#keepBeside(Number(lastInsertRowid), null, true, row, table, span);
    return true;
  }

  /** Another row in the place of `seq`. */
  replace(seq: number, row: NewRow, table: TermTable, span: TermSpan): void {
    this.#statements.update.run(...row.columns, seq);
    this.#addresses.forget(seq);
    this.#keys.forget(seq);
    this.#keepBeside(seq, (this.#statements.terms.get(seq)?.['terms'] as Uint8Array | undefined) ?? null, false, row, table, span);
  }

  #keepBeside(seq: number, before: Uint8Array | null, isNew: boolean, { domain, keys, others, otherNumbers, otherKeys }: NewRow, table: TermTable, span: TermSpan): void {
    this.#addresses.put(seq, others);
    this.#keys.put(seq, otherKeys);
    this.#putNumbers(seq, otherNumbers, isNew);
    this.#statements.keepTerms.run(seq, this.#index.person(seq, before, table, span, domain, keys));
  }
}

/** Whether a row whose main address somebody comes with is theirs. */
function claimOf(person: PreparedPerson, row: Row): 'good' | 'doubtful' | 'none' {
  if (isOfFunction(person.email ?? '')) return mayBe(person)(row) ? 'good' : 'none';
  if (person.nameKey === row['name_key']) return 'good';
  const [called, others] = [words(person.nameKey), words(row['name_key'] as string)];
  if (called.length === 0 || others.length === 0 || called.some((word) => others.includes(word)) || wasCalled(row, person.nameKey)) return 'good';
  return haveOneProfile(person, row) ? 'doubtful' : 'none';
}

function haveOneProfile({ profile }: NamedBy, row: Row): boolean {
  return profile === null || row['profile'] === null || row['profile'] === profile;
}

/** What somebody to whom a weak key leads is told by. */
type NamedBy = Pick<PreparedPerson, 'nameKey' | 'profile'>;

/** Whether a row may be a person's by profile and name. */
export function mayBe(person: NamedBy): (row: Row) => boolean {
  const isCalled = isCalledSo(person);
  return (row) => haveOneProfile(person, row) && isCalled(row);
}

/** Whether one of the two has no name, or a name of which the other has all words, or was all of it called once; some scripts have no blank between words. */
export function isCalledSo({ nameKey }: Pick<NamedBy, 'nameKey'>): (row: Row) => boolean {
  const called = words(nameKey);
  return (row) => {
    const other = row['name_key'] as string;
    const others = words(other);
    return called.every((word) => others.includes(word)) || others.every((word) => called.includes(word)) || nameKey.replaceAll(' ', '') === other.replaceAll(' ', '') || wasCalled(row, nameKey);
  };
}

function wasCalled(row: Row, nameKey: string): boolean {
  return asideOf(row).names?.some((name) => isPartOf(nameKey, name)) === true;
}

/** Replaces what is kept of the person in a row, whose `seq` comes last. */
export function personUpdate(store: Store): StatementSync {
  return store.prepare(`UPDATE people SET ${PERSON_KEPT_COLUMNS.map((name) => `${name} = ?`).join(', ')} WHERE seq = ?`);
}
