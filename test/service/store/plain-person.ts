/** What rows say of one person, by hand. Without any of the store's code but for what a word of a name is. */
import { fold, words } from '../../../src/service/fold.ts';
import type { SparseRecord } from '../../../src/service/records.ts';
import { isRole, namesNoEmployer } from '../../../src/verification/lists.ts';

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

export interface Person {
  /** In the order in which they came. */
  readonly rows: Row[];
  /** Null: one that was made for them. */
  readonly ownId: string | null;
  /** What the id that was made for them was made of. */
  readonly madeOf: string | null;
}

export interface Told<T> {
  readonly value: T;
  readonly at: string;
}

/** Of what is no more the newest, so many are kept. */
const MAX_FORMER = 20;

/** The newest that is said, and of those of one time the one that came last. */
export function newest<T>(rows: readonly Row[], valueOf: (row: Row) => T | undefined): Told<T> | null {
  let found: Told<T> | null = null;
  for (const row of rows) {
    const value = valueOf(row);
    if (value !== undefined && (found === null || row.updated_at >= found.at)) found = { value, at: row.updated_at };
  }
  return found;
}

export function put(told: Map<string, Told<unknown>>, field: string, one: Told<unknown> | null): void {
  if (one !== null) told.set(field, one);
}

export function listed(given: Told<readonly unknown[]> | null, former: readonly unknown[], main: Told<unknown> | undefined): Told<unknown> | null {
  if (given === null && former.length === 0) return null;
  return { value: [...(given?.value ?? []), ...former], at: given?.at ?? main?.at ?? '' };
}

export function some<T>(list: readonly T[] | undefined): readonly T[] | undefined {
  return list === undefined || list.length === 0 ? undefined : list;
}

/** What is said of an address; undefined: of whoever has none. */
export function verdict(rows: readonly Row[], address: string | undefined): Told<unknown> | null {
  return newest(rows, (row) => (row.email === address ? row.email_status : undefined) ?? row.emails?.find(({ email, type }) => type === 'former' && email === address)?.status ?? undefined);
}

/** A row whose main address is somebody else's. */
export function withoutMain({ email, email_status: status, ...row }: Row): Row {
  if (listedAddresses(row).includes(email as string)) return { ...row, cameWith: email as string };
  return { ...row, cameWith: email as string, emails: [...(row.emails ?? []), { email: email as string, type: 'former', status: status ?? null }] };
}

export function isOfFunction(address: string): boolean {
  return isRole(address.split('@')[0] as string);
}

export function workDomain({ cameWith, email = cameWith }: Row): string | undefined {
  const domain = email?.split('@')[1];
  return domain === undefined || namesNoEmployer(domain) ? undefined : domain;
}

/** What somebody is called by rows. */
export function nameIn(rows: readonly Row[]): string {
  const [name, first, last] = [newest(rows, (row) => row.name), newest(rows, (row) => row.first_name), newest(rows, (row) => row.last_name)];
  const isOutgrown = name !== null && [first, last].every((part) => part !== null && part.at > name.at);
  return name !== null && !isOutgrown ? name.value : [first?.value, last?.value].filter((part) => part !== undefined).join(' ');
}

export function nameWords(name: string): readonly string[] {
  return name === '' ? [''] : words(fold(name));
}

/** Whether a row may be of somebody to whom a weak key leads. */
export function mayBeOne(row: Row, one: Person): boolean {
  return isNameOf(row, one) && haveOneProfile(row, one);
}

export function haveOneProfile({ linkedin_url: profile }: Row, one: Person): boolean {
  return new Set([profile, mainProfile(one)].filter((page) => page !== undefined)).size < 2;
}

/** Also where one of the two has no name. */
export function haveAWordInCommon(row: Row, one: Person): boolean {
  const [name, other] = [nameIn([row]), nameIn(one.rows)];
  return name === '' || other === '' || nameWords(name).some((word) => nameWords(other).includes(word)) || allNames(one).some((told) => nameWords(name).every((word) => nameWords(told).includes(word)));
}

export function isNameOf(row: Row, one: Person): boolean {
  return areOneName(nameIn([row]), nameIn(one.rows)) || allNames(one).some((told) => nameWords(nameIn([row])).every((word) => nameWords(told).includes(word)));
}

/** What each row calls them. */
export function allNames({ rows }: Person): string[] {
  return [...new Set(rows.map((row) => fold(nameIn([row]))))].filter((name) => name !== '').toSorted().slice(0, MAX_FORMER);
}

/** Whether one has all words of the other. */
function areOneName(one: string, other: string): boolean {
  const [some_, others] = [words(fold(one)), words(fold(other))];
  return some_.every((word) => others.includes(word)) || others.every((word) => some_.includes(word));
}

export function nameAndDomain(name: string, domain: string | undefined): string {
  return `${fold(name)} at ${domain}`;
}

export function mainAddress({ rows }: Person): string | undefined {
  return newest(rows, ({ email }) => email)?.value;
}

export function mainProfile({ rows }: Person): string | undefined {
  return newest(rows, ({ linkedin_url: profile }) => profile)?.value;
}

export function formerProfiles(person: Person): string[] {
  return all(person.rows, ({ linkedin_url: profile }) => (profile === undefined ? [] : [profile]), [mainProfile(person)]);
}

export function otherIds({ rows, ownId }: Person): string[] {
  return all(rows, ({ id }) => (id === undefined ? [] : [id]), [ownId]);
}

/** All that any row says, each once, without some. */
function all(rows: readonly Row[], keysOf: (row: Row) => readonly string[], but: readonly unknown[]): string[] {
  return [...new Set(rows.flatMap(keysOf))].filter((key) => !but.includes(key)).toSorted().slice(0, MAX_FORMER);
}

export function listedAddresses({ emails = [], personal_emails: personal = [] }: Row): string[] {
  return [...emails.map(({ email }) => email), ...personal];
}

/** Addresses of which the newest rows say nothing any more. */
export function formerAddresses(person: Person): string[] {
  const { rows } = person;
  const emails = newest(rows, ({ emails: list }) => some(list?.filter(({ type }) => type !== 'former')))?.value ?? [];
  const personal = newest(rows, ({ personal_emails: list }) => list)?.value ?? [];
  return all(rows, (row) => [...(row.email === undefined ? [] : [row.email]), ...listedAddresses(row)], [mainAddress(person), ...emails.map(({ email }) => email), ...personal]);
}

export function otherAddresses(person: Person): string[] {
  return all(person.rows, (row) => [...(row.email === undefined ? [] : [row.email]), ...listedAddresses(row)], [mainAddress(person)]);
}

export function mobilesOf({ mobile, phones = [] }: SparseRecord): string[] {
  return [...(mobile === undefined ? [] : [mobile as string]), ...(phones as NonNullable<Row['phones']>).filter(({ type }) => type?.includes('mobile') === true).map(({ number }) => number)];
}

export function numbersOf({ mobile, phones = [] }: SparseRecord): string[] {
  return [...(mobile === undefined ? [] : [mobile as string]), ...(phones as NonNullable<Row['phones']>).map(({ number }) => number)];
}

export function formerMobiles(person: Person): string[] {
  return all(person.rows, (row) => mobilesOf({ ...row }), [newest(person.rows, ({ mobile }) => mobile)?.value]);
}
