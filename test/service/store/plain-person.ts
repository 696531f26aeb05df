/** The reference model of merging one person's rows. It shares only the rule for words of a name with the store. */
import { normalise, words } from '../../../src/service/records/normalise.ts';
import type { SparseRecord } from '../../../src/service/records/whole-record.ts';
import { isRole, namesNoEmployer } from '../../../src/verification/lists.ts';

/** A row of contacts to import, with every value in its stored form. */
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
}

export interface Person {
  /** In the order of arrival. */
  readonly rows: Row[];
  /** The reported id; null when the id was generated. */
  readonly distinctId: string | null;
  /** The key from which the id was generated. */
  readonly generatedFrom: string | null;
}

export interface Stamped<T> {
  readonly value: T;
  readonly at: string;
}

/** How many of the replaced values are kept, newest first. */
const MAX_FORMER = 20;

/** The newest value, and with equal times the last one. */
export function newest<T>(rows: readonly Row[], valueOf: (row: Row) => T | undefined): Stamped<T> | null {
  let found: Stamped<T> | null = null;
  for (const row of rows) {
    const value = valueOf(row);
    if (value !== undefined && (found === null || row.updated_at >= found.at)) found = { value, at: row.updated_at };
  }
  return found;
}

export function put(fields: Map<string, Stamped<unknown>>, field: string, one: Stamped<unknown> | null): void {
  if (one !== null) fields.set(field, one);
}

export function listed(
  reported: Stamped<readonly unknown[]> | null,
  former: readonly unknown[],
  main: Stamped<unknown> | undefined,
): Stamped<unknown> | null {
  if (reported === null && former.length === 0) return null;
  return { value: [...(reported?.value ?? []), ...former], at: reported?.at ?? main?.at ?? '' };
}

export function some<T>(list: readonly T[] | undefined): readonly T[] | undefined {
  return list === undefined || list.length === 0 ? undefined : list;
}

/** The verdict on an address; with undefined, the status of a person without an address. */
export function verdict(rows: readonly Row[], address: string | undefined): Stamped<unknown> | null {
  return newest(
    rows,
    (row) =>
      (row.email === address ? row.email_status : undefined) ??
      row.emails?.find(({ email, type }) => type === 'former' && email === address)?.status ??
      undefined,
  );
}

export function isRoleAddress(address: string): boolean {
  return isRole(address.split('@')[0] as string);
}

export function workDomain({ email }: Row): string | undefined {
  const domain = email?.split('@')[1];
  return domain === undefined || namesNoEmployer(domain) ? undefined : domain;
}

/** The names of a person by the rows. */
export function nameIn(rows: readonly Row[]): string {
  const [name, first, last] = [
    newest(rows, (row) => row.name),
    newest(rows, (row) => row.first_name),
    newest(rows, (row) => row.last_name),
  ];
  const isOutgrown = name !== null && [first, last].every((part) => part !== null && part.at > name.at);
  return name !== null && !isOutgrown ? name.value : [first?.value, last?.value].filter((part) => part !== undefined).join(' ');
}

export function nameWords(name: string): readonly string[] {
  return name === '' ? [''] : words(normalise(name));
}

/** Whether a row may belong to the person whom a weak key finds. */
export function mayBeOne(row: Row, one: Person): boolean {
  return isNameOf(row, one) && haveOneProfile(row, one);
}

export function haveOneProfile({ linkedin_url: profile }: Row, one: Person): boolean {
  return new Set([profile, mainProfile(one)].filter((page) => page !== undefined)).size < 2;
}

/** Whether a row of another name is the person's by its id or mobile number, and by no other profile. */
export function isLikelyOf(row: Row, one: Person): boolean {
  const mobile = newest(one.rows, (other) => other.mobile)?.value;
  const isSameId = row.id !== undefined && (row.id === one.distinctId || otherIds(one).includes(row.id));
  return haveOneProfile(row, one) && (isSameId || (row.mobile !== undefined && row.mobile === mobile));
}

/** Whether row and person may have one name by a common word; also when one side has no name. */
export function haveAWordInCommon(row: Row, one: Person): boolean {
  const [name, other] = [nameIn([row]), nameIn(one.rows)];
  return (
    name === '' ||
    other === '' ||
    nameWords(name).some((word) => nameWords(other).includes(word)) ||
    allNames(one).some((earlier) => nameWords(name).every((word) => nameWords(earlier).includes(word)))
  );
}

export function isNameOf(row: Row, one: Person): boolean {
  return (
    areOneName(nameIn([row]), nameIn(one.rows)) ||
    allNames(one).some((earlier) => nameWords(nameIn([row])).every((word) => nameWords(earlier).includes(word)))
  );
}

/** The name in each row. */
export function allNames({ rows }: Person): string[] {
  return [...new Set(rows.map((row) => normalise(nameIn([row]))))]
    .filter((name) => name !== '')
    .toSorted()
    .slice(0, MAX_FORMER);
}

/** Whether one name has all words of the other. */
function areOneName(one: string, other: string): boolean {
  const [oneWords, otherWords] = [words(normalise(one)), words(normalise(other))];
  return oneWords.every((word) => otherWords.includes(word)) || otherWords.every((word) => oneWords.includes(word));
}

export function nameAndDomain(name: string, domain: string | undefined): string {
  return `${normalise(name)} at ${domain}`;
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

export function otherIds({ rows, distinctId }: Person): string[] {
  return all(rows, ({ id }) => (id === undefined ? [] : [id]), [distinctId]);
}

/** All values of all rows, each once, without the given ones. */
function all(rows: readonly Row[], keysOf: (row: Row) => readonly string[], but: readonly unknown[]): string[] {
  return [...new Set(rows.flatMap(keysOf))]
    .filter((key) => !but.includes(key))
    .toSorted()
    .slice(0, MAX_FORMER);
}

export function listedAddresses({ emails = [], personal_emails: personal = [] }: Row): string[] {
  return [...emails.map(({ email }) => email), ...personal];
}

/** Addresses that the newest rows no longer mention. */
export function formerAddresses(person: Person): string[] {
  const { rows } = person;
  const emails = newest(rows, ({ emails: list }) => some(list?.filter(({ type }) => type !== 'former')))?.value ?? [];
  const personal = newest(rows, ({ personal_emails: list }) => list)?.value ?? [];
  return all(rows, (row) => [...(row.email === undefined ? [] : [row.email]), ...listedAddresses(row)], [
    mainAddress(person),
    ...emails.map(({ email }) => email),
    ...personal,
  ]);
}

export function otherAddresses(person: Person): string[] {
  return all(person.rows, (row) => [...(row.email === undefined ? [] : [row.email]), ...listedAddresses(row)], [mainAddress(person)]);
}

export function mobilesOf({ mobile, phones = [] }: SparseRecord): string[] {
  return [
    ...(mobile === undefined ? [] : [mobile as string]),
    ...(phones as NonNullable<Row['phones']>).filter(({ type }) => type?.includes('mobile') === true).map(({ number }) => number),
  ];
}

export function numbersOf({ mobile, phones = [] }: SparseRecord): string[] {
  return [...(mobile === undefined ? [] : [mobile as string]), ...(phones as NonNullable<Row['phones']>).map(({ number }) => number)];
}

export function formerMobiles(person: Person): string[] {
  return all(person.rows, (row) => mobilesOf({ ...row }), [newest(person.rows, ({ mobile }) => mobile)?.value]);
}
