/** Rows of people with their keys: finds, inserts and replaces them. */
import { words } from '../../records/normalise.ts';
import type { IndexWriter } from '../index/index-writer.ts';
import type { SortKeys } from '../index/sort-keys.ts';
import type { TermSpan, TermTable } from '../index/term-table.ts';
import { namesakeId, distinctId } from '../identity/ids.ts';
import { mergeStateOf } from './record-columns.ts';
import { AS_TEXT, type Texts } from './text-blobs.ts';
import { isNamePart } from '../identity/reported-names.ts';
import { isRoleAddress } from '../identity/other-addresses.ts';
import { idAsKey, profileAsKey } from '../identity/other-keys.ts';
import { addressPasser } from '../identity/shared-addresses.ts';
import { otherNumberWriter } from '../identity/other-numbers.ts';
import type { ColumnValue } from './normalised.ts';
import { newFieldSources, STORED_PERSON_COLUMNS, type PersonKeys, type NormalisedPerson } from './normalised-person.ts';
import { SharedKeys } from '../identity/shared-keys.ts';
import type { Store } from '../store.ts';

export type RawPersonRow = Readonly<Record<string, unknown>>;

/** `row` null: the person is new. `isShared`: the row of the main address is another person's, who has it too. */
interface FoundPerson {
  readonly row: RawPersonRow | null;
  readonly isShared: boolean;
}

const EMAIL_COLUMN = STORED_PERSON_COLUMNS.indexOf('email');

/** Columns of a found row. */
const FOUND = 'seq, id, email, mobile, name_key, profile, company_domain, doc, source, observed_at, field_sources';

/** The columns of a row, and the keys that have tables of their own. */
export interface NewRow {
  readonly columns: readonly (ColumnValue | Texts)[];
  readonly domain: string | null;
  readonly keys: SortKeys;
  /** Addresses and numbers beside the main ones. */
  readonly others: readonly string[];
  readonly otherNumbers: readonly string[];
  /** Former profiles and further ids. */
  readonly otherKeys: readonly string[];
}

export class PersonRows {
  readonly #index: IndexWriter;
  readonly #addresses: SharedKeys;
  readonly #keys: SharedKeys;
  readonly #putNumbers;
  readonly #passOn;
  readonly #statements;

  constructor(store: Store, index: IndexWriter) {
    this.#index = index;
    this.#addresses = new SharedKeys(store, 'other_addresses', index);
    this.#keys = new SharedKeys(store, 'other_keys', index);
    this.#putNumbers = otherNumberWriter(store);
    this.#passOn = addressPasser(store);
    this.#statements = {
      byEmail: store.prepare(`SELECT ${FOUND} FROM people WHERE email = ?`),
      byProfile: store.prepare(`SELECT ${FOUND} FROM people WHERE profile = ? ORDER BY seq LIMIT 1`),
      byId: store.prepare(`SELECT ${FOUND} FROM people WHERE id = ?`),
      // A unique address identifies the row.
      same: store.prepare(
        `SELECT 1 FROM people WHERE email = ? AND doc = ${AS_TEXT} AND observed_at = ? AND company_domain IS ? AND field_sources IS ?`,
      ),
      byName: store.prepare(`SELECT ${FOUND} FROM people WHERE name_key = ? AND company_domain = ? ORDER BY id LIMIT 2`),
      hasProfile: store.prepare('SELECT 1 FROM people WHERE profile = ?'),
      insert: store.prepare(
        `INSERT INTO people (${STORED_PERSON_COLUMNS.join(', ')}) VALUES (` +
          `${STORED_PERSON_COLUMNS.map((name) => (name === 'doc' ? AS_TEXT : '?')).join(', ')}) ON CONFLICT DO NOTHING`,
      ),
      update: store.prepare(`UPDATE people SET ${STORED_PERSON_COLUMNS.map((name) => `${name} = ?`).join(', ')} WHERE seq = ?`),
      terms: store.prepare('SELECT terms FROM person_term_lists WHERE person = ?'),
      storeTerms: store.prepare('INSERT OR REPLACE INTO person_term_lists (person, terms) VALUES (?, ?)'),
    };
  }

  /**
   * Finds the stored person of a report by its best key: main address, profile, other address, former profile, id, name with employer.
   * - A name alone identifies a person within a company, unless several there share it; then it is the one stored under the name's own id.
   * - A further address, a former profile or an id counts only if the names are compatible. So does a main address that is a role address,
   * or whose row has another profile.
   * - If the name differs, the id or the mobile number must be the same: one address alone makes nobody one person.
   * - If many people share a key, only the first few are compared; the others have an id that is a digest of all their keys.
   */
  find(person: NormalisedPerson): FoundPerson {
    const { email, profile, id, name, domain, newId } = person;
    const { byEmail, byId, byName } = this.#statements;
    const main = email === null ? undefined : byEmail.get(email);
    if (main !== undefined && isOwner(person, main)) return { row: main, isShared: false };
    const row =
      this.#byOtherKeys(person) ??
      (main !== undefined && this.#isLikely(person, main) ? main : undefined) ??
      (main === undefined ? undefined : [byId.get(distinctId(person))].find((one) => one !== undefined && isCompatible(person)(one)));
    if (row !== undefined || email !== null || profile !== null || id !== null)
      return { row: row ?? null, isShared: main !== undefined && row?.['seq'] !== main['seq'] };
    const same = byName.all(name, domain);
    if (same.length === 1) return { row: same[0] ?? null, isShared: false };
    const before = same.length === 0 ? undefined : byId.get(newId);
    return { row: before?.['name_key'] === name && before['company_domain'] === domain ? before : null, isShared: false };
  }

  /** Whether a row with the personal address and another name is the same person: by id or mobile number, and no other profile. */
  #isLikely(person: NormalisedPerson, row: RawPersonRow): boolean {
    const { email, id, mobile } = person;
    if (isRoleAddress(email ?? '') || !haveCompatibleProfiles(person, row)) return false;
    return (
      (mobile !== null && mobile === row['mobile']) ||
      (id !== null && (id === row['id'] || mergeStateOf(row).keys?.includes(idAsKey(id)) === true))
    );
  }

  #byOtherKeys(person: NormalisedPerson): RawPersonRow | undefined {
    const { email, profile, id } = person;
    return (
      (profile === null ? undefined : this.#statements.byProfile.get(profile)) ??
      (email === null ? undefined : this.#addresses.find(email, isCompatible(person))) ??
      (profile === null ? undefined : this.#keys.find(profileAsKey(profile), hasCompatibleName(person))) ??
      (id === null ? undefined : this.#byId(person, id))
    );
  }

  /** Whether the row of this address holds exactly this report. @param text the report's */
  isUnchanged(person: NormalisedPerson, text: Texts): boolean {
    const { email, domain, atMs, verdictMs } = person;
    return (
      email !== null && verdictMs === null && this.#statements.same.get(email, text, atMs, domain, newFieldSources(person)) !== undefined
    );
  }

  /** The person with this id, or with the id that replaced it because it was too long or taken. */
  #byId(person: NormalisedPerson, id: string): RawPersonRow | undefined {
    const { byId } = this.#statements;
    const { email, profile, newId, nameKey } = person;
    const found = byId.get(id) ?? (email === null && profile === null && newId !== id ? byId.get(newId) : undefined);
    if (found !== undefined && isCompatible(person)(found)) return found;
    return this.#keys.find(idAsKey(id), isCompatible(person)) ?? (found === undefined ? undefined : byId.get(namesakeId(id, nameKey)));
  }

  /** Whether no key finds a person, apart from main address and id: `add` checks these itself. */
  mayBeNew({ email, profile, id }: PersonKeys): boolean {
    if (email === null && id === null) return false;
    if (email !== null && this.#addresses.has(email)) return false;
    if (profile !== null && (this.#statements.hasProfile.get(profile) !== undefined || this.#keys.has(profileAsKey(profile)))) return false;
    return id === null || !this.#keys.has(idAsKey(id));
  }

  /** Inserts a row. False: the address or id exists, and nothing has changed. */
  add(row: NewRow, table: TermTable, span: TermSpan): boolean {
    const { changes, lastInsertRowid } = this.#statements.insert.run(...row.columns);
    if (changes === 0) return false;
    this.#writeKeys(Number(lastInsertRowid), null, true, row, table, span);
    return true;
  }

  /** Whether the row of this address is another one. */
  isShared(email: string | null, seq: number): boolean {
    const owner = email === null ? undefined : this.#statements.byEmail.get(email);
    return owner !== undefined && owner['seq'] !== seq;
  }

  /**
   * Whether one of these personal addresses is another person's, whose name is not compatible.
   * @param seq the row of the person; null when it has none yet
   */
  isOfAnother(addresses: readonly string[], person: Pick<NormalisedPerson, 'nameKey'>, seq: number | null): boolean {
    const isCalled = hasCompatibleName(person);
    const isOther = (row: RawPersonRow): boolean => row['seq'] !== seq && !isCalled(row);
    return addresses.some((address) => {
      if (isRoleAddress(address)) return false;
      const owner = this.#statements.byEmail.get(address);
      return (owner !== undefined && isOther(owner)) || this.#addresses.find(address, isOther) !== undefined;
    });
  }

  /** Replaces a row. An address that it leaves goes to the next person who has it as the main one. */
  replace(found: RawPersonRow, row: NewRow, table: TermTable, span: TermSpan): void {
    const seq = found['seq'] as number;
    this.#statements.update.run(...row.columns, seq);
    this.#addresses.forget(seq);
    this.#keys.forget(seq);
    const left = found['email'];
    if (typeof left === 'string' && left !== row.columns[EMAIL_COLUMN]) this.#passOn(left);
    this.#writeKeys(seq, (this.#statements.terms.get(seq)?.['terms'] as Uint8Array | undefined) ?? null, false, row, table, span);
  }

  #writeKeys(
    seq: number,
    before: Uint8Array | null,
    isNew: boolean,
    { domain, keys, others, otherNumbers, otherKeys }: NewRow,
    table: TermTable,
    span: TermSpan,
  ): void {
    this.#addresses.put(seq, others);
    this.#keys.put(seq, otherKeys);
    this.#putNumbers(seq, otherNumbers, isNew);
    this.#statements.storeTerms.run(seq, this.#index.person(seq, before, table, span, domain, keys));
  }
}

/** Whether a row with the report's main address is the same person by its name; a role address also needs the profile. */
function isOwner(person: NormalisedPerson, row: RawPersonRow): boolean {
  if (isRoleAddress(person.email ?? '')) return isCompatible(person)(row);
  if (person.nameKey === row['name_key']) return true;
  const [called, others] = [words(person.nameKey), words(row['name_key'] as string)];
  return called.length === 0 || others.length === 0 || called.some((word) => others.includes(word)) || hadName(row, person.nameKey);
}

function haveCompatibleProfiles({ profile }: NamedBy, row: RawPersonRow): boolean {
  return profile === null || row['profile'] === null || row['profile'] === profile;
}

/** The identity that a shared key is checked against. */
type NamedBy = Pick<NormalisedPerson, 'nameKey' | 'profile'>;

/** Whether a row may be the person: profile and name are compatible. */
export function isCompatible(person: NamedBy): (row: RawPersonRow) => boolean {
  const isCalled = hasCompatibleName(person);
  return (row) => haveCompatibleProfiles(person, row) && isCalled(row);
}

/**
 * Whether two names are compatible: one is missing, contains all words of the other, or was reported for the row before. Blanks do not
 * count, because some scripts have none between words.
 */
export function hasCompatibleName({ nameKey }: Pick<NamedBy, 'nameKey'>): (row: RawPersonRow) => boolean {
  const called = words(nameKey);
  return (row) => {
    const other = row['name_key'] as string;
    const others = words(other);
    return (
      called.every((word) => others.includes(word)) ||
      others.every((word) => called.includes(word)) ||
      nameKey.replaceAll(' ', '') === other.replaceAll(' ', '') ||
      hadName(row, nameKey)
    );
  };
}

function hadName(row: RawPersonRow, nameKey: string): boolean {
  return mergeStateOf(row).names?.some((name) => isNamePart(nameKey, name)) === true;
}
