/** Who the people of a store are, by hand: what docs/decisions/merging.md says, over all rows at once. Slow, and without any of the store's code but for what a word of a name is. */
import { fold, words } from '../../../src/service/fold.ts';
import type { SparseRecord } from '../../../src/service/records.ts';
import { isFreeProvider, isRole } from '../../../src/verification/lists.ts';

/** A row of contacts as it is imported, with every value in the form in which it is kept. */
export interface Row {
  readonly id?: string;
  readonly email?: string;
  /** Host and path. */
  readonly linkedin_url?: string;
  readonly name?: string;
  readonly first_name?: string;
  readonly last_name?: string;
  readonly title?: string;
  readonly mobile?: string;
  readonly email_status?: string;
  readonly emails?: readonly { readonly email: string; readonly type: string | null; readonly status: string | null }[];
  readonly personal_emails?: readonly string[];
  readonly phones?: readonly { readonly number: string; readonly type: string | null }[];
  readonly company?: { readonly name?: string; readonly domain?: string };
  readonly updated_at: string;
  /** An address that turned out to be somebody else's main one. */
  readonly cameWith?: string;
}

interface Person {
  /** In the order in which they came. */
  readonly rows: Row[];
  /** Null: one that was made for them. */
  readonly ownId: string | null;
  /** What the id that was made for them was made of. */
  readonly madeOf: string | null;
}

interface Told<T> {
  readonly value: T;
  readonly at: string;
}

const MAX_FORMER = 20;
const FIELDS = ['email', 'linkedin_url', 'first_name', 'last_name', 'title', 'mobile', 'personal_emails'] as const;

export class PlainPeople {
  people: Person[] = [];
  readonly #companies = new Map<string, string>();
  readonly #erased = new Set<string>();

  /** False: they asked to be removed. */
  put(row: Row): boolean {
    if (this.#isErased(row)) return false;
    const { name, domain = workDomain(row) } = row.company ?? {};
    if (name !== undefined && domain !== undefined) this.#companies.set(domain, name);
    const known = this.find(row);
    const told = row.email !== undefined && this.people.some((one) => one !== known && mainAddress(one) === row.email) ? withoutMain(row) : row;
    if (known === undefined) this.#add(told);
    else known.rows.push(told);
    return true;
  }

  find(row: Row): Person | undefined {
    const { id, email, linkedin_url: profile } = row;
    const main = this.people.find((one) => email !== undefined && mainAddress(one) === email);
    if (main !== undefined && isOfFunction(email as string) ? mayBeOne(row, main) : main !== undefined && haveAWordInCommon(row, main)) return main;
    const isCalledSo = (one: Person): boolean => isNameOf(row, one);
    const mayBe = (one: Person): boolean => mayBeOne(row, one);
    const first = (key: string | undefined, keysOf: (one: Person) => readonly (string | null | undefined)[], test: (one: Person) => boolean = () => true): Person | undefined =>
      key === undefined ? undefined : this.people.find((one) => keysOf(one).includes(key) && test(one));
    const madeOf = `${id}\n${fold(nameIn([row]))}`;
    const found =
      first(profile, (one) => [mainProfile(one)]) ?? first(email, otherAddresses, mayBe) ?? first(profile, formerProfiles, isCalledSo) ??
      first(id, (one) => [one.ownId], mayBe) ?? first(id, otherIds, mayBe) ?? (id !== undefined && this.people.some(({ ownId }) => ownId === id) ? first(madeOf, (one) => [one.madeOf]) : undefined) ??
      (main !== undefined && !isOfFunction(email as string) && haveOneProfile(row, main) ? main : undefined);
    if (found !== undefined || email !== undefined || profile !== undefined || id !== undefined) return found;
    const key = nameAndDomain(nameIn([row]), this.employer([row])['company_domain']);
    const same = this.people.filter((one) => nameAndDomain(nameIn(one.rows), this.employer(one.rows)['company_domain']) === key);
    return same.length === 1 ? same[0] : same.find((one) => one.madeOf === key);
  }

  /** Who is answered for a key. */
  foundBy(by: 'email' | 'profile' | 'id', key: string): Person | undefined {
    const [mainOf, othersOf] = { email: [mainAddress, otherAddresses] as const, profile: [mainProfile, formerProfiles] as const, id: [({ ownId }: Person) => ownId, otherIds] as const }[by];
    const have = this.people.filter((one) => mainOf(one) === key);
    const latest = have.map((one) => String(this.shown(one)['updated_at'])).toSorted().at(-1);
    const others = this.people.filter((one) => othersOf(one).includes(key));
    return have.find((one) => this.shown(one)['updated_at'] === latest) ?? (by === 'email' || others.length === 1 ? others[0] : undefined);
  }

  /** Whether an address, a profile or an id was that of somebody who was erased. */
  isErasedBy(key: string): boolean {
    return [...this.#erased].some((one) => one === key || one.startsWith(`id:${key} `));
  }

  /** Erases whoever has an address, and all to whom their addresses and profiles lead. */
  suppress(email: string): void {
    const [keys, gone] = [new Set([email]), new Set(this.people.filter((one) => [mainAddress(one), ...otherAddresses(one)].includes(email)))];
    for (let before = -1; before < gone.size;) {
      before = gone.size;
      for (const one of gone) for (const key of this.#leadsOf(one)) keys.add(key);
      for (const one of this.people) if (this.#leadsOf(one).some((key) => keys.has(key))) gone.add(one);
    }
    this.people = this.people.filter((one) => !gone.has(one));
    for (const key of keys) this.#erased.add(key);
    for (const one of gone) {
      for (const number of mobilesOf(this.shown(one))) if (!this.people.some((other) => numbersOf(this.shown(other)).includes(number))) this.#erased.add(number);
      const functions = [mainAddress(one), ...otherAddresses(one)].filter((address) => address !== undefined && isOfFunction(address));
      for (const word of [nameIn(one.rows), ...allNames(one)].flatMap(nameWords)) {
        for (const id of [one.ownId, ...otherIds(one)]) if (id !== null) this.#erased.add(`id:${id} ${word}`);
        for (const address of functions) this.#erased.add(`${address} ${word}`);
      }
    }
  }

  /** Addresses and profiles that are of this person alone, as far as one can tell: not those of a function, and none that was theirs once and is somebody else's now. */
  #leadsOf(person: Person): string[] {
    const asRow = { name: nameIn(person.rows), linkedin_url: mainProfile(person), updated_at: '' } as Row;
    const isAnothers = (key: string): boolean =>
      this.people.some((one) => one !== person && ((mainAddress(one) === key && !mayBeOne(asRow, one)) || (mainProfile(one) === key && !isNameOf(asRow, one))));
    const former = [...formerAddresses(person), ...formerProfiles(person)];
    const addresses = [mainAddress(person), ...otherAddresses(person)].filter((address) => address !== undefined && !isOfFunction(address));
    return [...addresses, mainProfile(person), ...formerProfiles(person)].filter((key) => key !== undefined && !(former.includes(key) && isAnothers(key))) as string[];
  }

  /** A person as an export has them, but for an id that was made for them. */
  shown(person: Person): SparseRecord {
    const { rows, ownId } = person;
    const told = new Map<string, Told<unknown>>();
    for (const field of FIELDS) put(told, field, newest(rows, (row) => row[field]));
    const name = newest(rows, ({ name: one }) => one);
    const [first, last] = [told.get('first_name'), told.get('last_name')];
    const isOutgrown = name !== null && [first, last].every((part) => part !== undefined && part.at > name.at);
    put(told, 'name', isOutgrown ? null : name);
    put(told, 'email_status', verdict(rows, mainAddress(person)));
    const emails = newest(rows, ({ emails: list }) => some(list?.filter(({ type }) => type !== 'former')));
    const formerEmails = formerAddresses(person).map((email) => ({ email, type: 'former', status: verdict(rows, email)?.value ?? null }));
    put(told, 'emails', listed(emails, formerEmails, told.get('email')));
    const phones = newest(rows, ({ phones: list }) => some(list?.filter(({ type }) => type !== 'former_mobile')));
    const formerNumbers = formerMobiles(person).filter((number) => phones?.value.some((one) => one.number === number) !== true);
    put(told, 'phones', listed(phones, formerNumbers.map((number) => ({ number, type: 'former_mobile' })), told.get('mobile')));
    const { at: employedAt, ...employer } = this.employer(rows);
    const times = [...[...told.values()].map(({ at }) => at), ...(employedAt === undefined ? [] : [employedAt])];
    const known = Object.fromEntries([...told].map(([field, { value }]) => [field, value]));
    const parts = nameIn(rows);
    return { ...known, ...(known['name'] === undefined && parts !== '' ? { name: parts } : {}), ...employer, ...(ownId === null ? {} : { id: ownId }), updated_at: `${times.toSorted().at(-1) ?? (rows[0] as Row).updated_at}T00:00:00Z` };
  }

  /** Where they work, and of when that is. */
  employer(rows: readonly Row[]): { readonly company_domain?: string; readonly company_name?: string; readonly at?: string } {
    const given = newest(rows, (row) => row.company?.domain ?? (row.company?.name === undefined ? undefined : workDomain(row)));
    const named = newest(rows, (row) => (row.company?.domain === undefined && workDomain(row) === undefined ? row.company?.name : undefined));
    const derived = newest(rows, (row) => (row.company === undefined ? workDomain(row) : undefined));
    if (named !== null && (given === null || (named.at > given.at && fold(this.#companies.get(given.value) ?? '') !== fold(named.value)))) return { company_name: named.value, at: named.at };
    const works = given ?? derived;
    return works === null ? {} : { company_domain: works.value, at: works.at };
  }

  #add(row: Row): void {
    const { id, email, linkedin_url: profile } = row;
    const isFree = !this.people.some(({ ownId }) => ownId === id) && !this.#isErasedId(id ?? '');
    const madeOf = id !== undefined ? `${id}\n${fold(nameIn([row]))}` : email === undefined && profile === undefined ? nameAndDomain(nameIn([row]), this.employer([row])['company_domain']) : null;
    this.people.push({ rows: [row], ownId: id !== undefined && isFree ? id : null, madeOf: id !== undefined && isFree ? null : madeOf });
  }

  #isErased(row: Row): boolean {
    const [{ email }, name] = [row, nameIn([row])];
    const keys = [email, row.linkedin_url, ...listedAddresses(row), ...mobilesOf({ ...row })];
    if (email !== undefined && isOfFunction(email) && name !== '' && nameWords(name).some((word) => this.#erased.has(`${email} ${word}`))) return true;
    return keys.some((key) => this.#erased.has(key ?? '')) || this.#isErasedId(row.id ?? '', name);
  }

  /** @param name whose name has a word of the erased one's, or who have none of the two, are they */
  #isErasedId(id: string, name = ''): boolean {
    const keys = [...this.#erased].filter((key) => key.startsWith(`id:${id} `));
    return keys.length > 0 && (name === '' || keys.includes(`id:${id} `) || nameWords(name).some((word) => keys.includes(`id:${id} ${word}`)));
  }
}

/** The newest that is said, and of those of one time the one that came last. */
function newest<T>(rows: readonly Row[], valueOf: (row: Row) => T | undefined): Told<T> | null {
  let found: Told<T> | null = null;
  for (const row of rows) {
    const value = valueOf(row);
    if (value !== undefined && (found === null || row.updated_at >= found.at)) found = { value, at: row.updated_at };
  }
  return found;
}

function put(told: Map<string, Told<unknown>>, field: string, one: Told<unknown> | null): void {
  if (one !== null) told.set(field, one);
}

function listed(given: Told<readonly unknown[]> | null, former: readonly unknown[], main: Told<unknown> | undefined): Told<unknown> | null {
  if (given === null && former.length === 0) return null;
  return { value: [...(given?.value ?? []), ...former], at: given?.at ?? main?.at ?? '' };
}

function some<T>(list: readonly T[] | undefined): readonly T[] | undefined {
  return list === undefined || list.length === 0 ? undefined : list;
}

/** What is said of an address; undefined: of whoever has none. */
function verdict(rows: readonly Row[], address: string | undefined): Told<unknown> | null {
  return newest(rows, (row) => (row.email === address ? row.email_status : undefined) ?? row.emails?.find(({ email, type }) => type === 'former' && email === address)?.status ?? undefined);
}

/** A row whose main address is somebody else's. */
function withoutMain({ email, email_status: status, ...row }: Row): Row {
  if (listedAddresses(row).includes(email as string)) return { ...row, cameWith: email as string };
  return { ...row, cameWith: email as string, emails: [...(row.emails ?? []), { email: email as string, type: 'former', status: status ?? null }] };
}

function isOfFunction(address: string): boolean {
  return isRole(address.split('@')[0] as string);
}

function workDomain({ cameWith, email = cameWith }: Row): string | undefined {
  const domain = email?.split('@')[1];
  return domain === undefined || isFreeProvider(domain) ? undefined : domain;
}

/** What somebody is called by rows. */
function nameIn(rows: readonly Row[]): string {
  const [name, first, last] = [newest(rows, (row) => row.name), newest(rows, (row) => row.first_name), newest(rows, (row) => row.last_name)];
  const isOutgrown = name !== null && [first, last].every((part) => part !== null && part.at > name.at);
  return name !== null && !isOutgrown ? name.value : [first?.value, last?.value].filter((part) => part !== undefined).join(' ');
}

function nameWords(name: string): readonly string[] {
  return name === '' ? [''] : words(fold(name));
}

/** Whether a row may be of somebody to whom a weak key leads. */
function mayBeOne(row: Row, one: Person): boolean {
  return isNameOf(row, one) && haveOneProfile(row, one);
}

function haveOneProfile({ linkedin_url: profile }: Row, one: Person): boolean {
  return new Set([profile, mainProfile(one)].filter((page) => page !== undefined)).size < 2;
}

/** Also where one of the two has no name. */
function haveAWordInCommon(row: Row, one: Person): boolean {
  const [name, other] = [nameIn([row]), nameIn(one.rows)];
  return name === '' || other === '' || nameWords(name).some((word) => nameWords(other).includes(word)) || allNames(one).some((told) => nameWords(name).every((word) => nameWords(told).includes(word)));
}

function isNameOf(row: Row, one: Person): boolean {
  return areOneName(nameIn([row]), nameIn(one.rows)) || allNames(one).some((told) => nameWords(nameIn([row])).every((word) => nameWords(told).includes(word)));
}

/** What each row calls them. */
function allNames({ rows }: Person): string[] {
  return [...new Set(rows.map((row) => fold(nameIn([row]))))].filter((name) => name !== '').toSorted().slice(0, MAX_FORMER);
}

/** Whether one has all words of the other. */
function areOneName(one: string, other: string): boolean {
  const [some_, others] = [words(fold(one)), words(fold(other))];
  return some_.every((word) => others.includes(word)) || others.every((word) => some_.includes(word));
}

function nameAndDomain(name: string, domain: string | undefined): string {
  return `${fold(name)} at ${domain}`;
}

function mainAddress({ rows }: Person): string | undefined {
  return newest(rows, ({ email }) => email)?.value;
}

function mainProfile({ rows }: Person): string | undefined {
  return newest(rows, ({ linkedin_url: profile }) => profile)?.value;
}

function formerProfiles(person: Person): string[] {
  return all(person.rows, ({ linkedin_url: profile }) => (profile === undefined ? [] : [profile]), [mainProfile(person)]);
}

function otherIds({ rows, ownId }: Person): string[] {
  return all(rows, ({ id }) => (id === undefined ? [] : [id]), [ownId]);
}

/** All that any row says, each once, without some. */
function all(rows: readonly Row[], keysOf: (row: Row) => readonly string[], but: readonly unknown[]): string[] {
  return [...new Set(rows.flatMap(keysOf))].filter((key) => !but.includes(key)).toSorted().slice(0, MAX_FORMER);
}

function listedAddresses({ emails = [], personal_emails: personal = [] }: Row): string[] {
  return [...emails.map(({ email }) => email), ...personal];
}

/** Addresses of which the newest rows say nothing any more. */
function formerAddresses(person: Person): string[] {
  const { rows } = person;
  const emails = newest(rows, ({ emails: list }) => some(list?.filter(({ type }) => type !== 'former')))?.value ?? [];
  const personal = newest(rows, ({ personal_emails: list }) => list)?.value ?? [];
  return all(rows, (row) => [...(row.email === undefined ? [] : [row.email]), ...listedAddresses(row)], [mainAddress(person), ...emails.map(({ email }) => email), ...personal]);
}

function otherAddresses(person: Person): string[] {
  return all(person.rows, (row) => [...(row.email === undefined ? [] : [row.email]), ...listedAddresses(row)], [mainAddress(person)]);
}

function mobilesOf({ mobile, phones = [] }: SparseRecord): string[] {
  return [...(mobile === undefined ? [] : [mobile as string]), ...(phones as NonNullable<Row['phones']>).filter(({ type }) => type?.includes('mobile') === true).map(({ number }) => number)];
}

function numbersOf({ mobile, phones = [] }: SparseRecord): string[] {
  return [...(mobile === undefined ? [] : [mobile as string]), ...(phones as NonNullable<Row['phones']>).map(({ number }) => number)];
}

function formerMobiles(person: Person): string[] {
  return all(person.rows, (row) => mobilesOf({ ...row }), [newest(person.rows, ({ mobile }) => mobile)?.value]);
}
