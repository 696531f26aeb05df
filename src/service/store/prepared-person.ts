/** A person made ready for the store: all that does not depend on what the store has, so that it can be done elsewhere and ahead. Pure. */
import { profileKey } from '../../verification/profile-url.ts';
import { cleanRecord, PERSON_TYPES } from '../field-types.ts';
import { fold } from '../fold.ts';
import { hasWholeName, nameOf, withName } from '../person-name.ts';
import { lackingInPerson, type SparseRecord } from '../records.ts';
import { rankOf, type SortKeys } from '../search/sort-keys.ts';
import { LEFT_OUT, type TermCollector, type TermSpan } from '../search/term-table.ts';
import { personTerms } from '../search/terms.ts';
import { textOrNull } from '../values.ts';
import { digest, wantedId } from './ids.ts';
import { fieldSources } from './kept-columns.ts';
import type { KeptRecord } from './merge.ts';
import { otherAddressesOf } from './other-addresses.ts';
import { numbersOf, otherNumbersOf } from './other-numbers.ts';
import type { ColumnValue } from './prepared-company.ts';
import type { Refusal } from './put.ts';

/** What a person is known by. */
export interface PersonKeys {
  readonly email: string | null;
  readonly profile: string | null;
  /** As it was given. */
  readonly id: string | null;
  /** A whole one, as it is compared. */
  readonly name: string | null;
  readonly domain: string | null;
}

export const PERSON_KEPT_COLUMNS = ['id', 'email', 'profile', 'mobile', 'name_key', 'company_domain', 'email_status', 'email_verified_at', 'rank', 'doc', 'lacks', 'source', 'observed_at', 'field_sources'] as const;

/** Of when a report is, and where it is known to be another time, of when the status of its address was learnt; epoch milliseconds. */
export interface ReportTimes {
  readonly atMs: number;
  readonly learntMs: number | null;
}

/** Plain values alone: it is handed from thread to thread. */
export interface PreparedPerson extends PersonKeys, ReportTimes, TermSpan {
  /** What somebody new is named by, where it is free. */
  readonly newId: string;
  /** `PERSON_KEPT_COLUMNS` of somebody new, but for their source. */
  readonly columns: readonly ColumnValue[];
  readonly nameKey: string;
  readonly rank: number;
  /** Addresses beside the main one. */
  readonly others: readonly string[];
  /** E.164: mobile numbers, the main one first, and all numbers but that. */
  readonly mobiles: readonly string[];
  readonly otherNumbers: readonly string[];
  /** JSON of the record as it is kept of somebody new, `newId` in it, where one works left out. */
  readonly text: string;
  /** Fields whose value was none. */
  readonly dropped: readonly string[];
}

/** Makes a person ready, or says why they cannot be kept. `company_domain` says where one works. @param terms is told what a new person is found by; null: that is left out */
export function preparePerson(raw: SparseRecord, { atMs, learntMs }: ReportTimes, terms: TermCollector | null): PreparedPerson | Refusal {
  const { record, dropped } = cleanRecord(raw, PERSON_TYPES);
  const { email, profile, id, name, domain } = keysOf(record);
  if (email === null && profile === null && id === null && (name === null || domain === null)) {
    return { code: dropped.includes('email') ? 'bad_email' : 'no_identity', detail: 'a person needs a good e-mail address, a profile URL, an id, or a whole name and a company domain' };
  }
  const newId = wantedId(id, () => `pe_${digest(identityOf({ email, profile, id, name, domain }))}`);
  record['id'] = newId;
  const derived = { profile, nameKey: nameKey(record), rank: rankOf(record) };
  const doc = { ...record, company_domain: undefined };
  const text = JSON.stringify(doc);
  const { from, to } = terms?.add(termsOf(doc, atMs)) ?? LEFT_OUT;
  return {
    email, profile, id, name, domain, newId, columns: columnsOf({ doc: record, base: { source: 0, atMs }, others: {} }, text, derived), nameKey: derived.nameKey, rank: derived.rank,
    others: otherAddressesOf(doc), mobiles: numbersOf(doc, 'mobile'), otherNumbers: otherNumbersOf(doc), text, atMs, learntMs, dropped, from, to,
  };
}

/** What a record with where one works is known by. */
function keysOf(record: SparseRecord): PersonKeys {
  return { email: textOrNull(record['email']), profile: profileOf(record), id: textOrNull(record['id']), name: hasWholeName(record) ? nameKey(record) : null, domain: textOrNull(record['company_domain']) };
}

/** What the id of somebody new is made of. */
function identityOf({ email, profile, id, name, domain }: PersonKeys): string {
  if (email !== null) return `email:${email}`;
  if (profile !== null) return `profile:${profile}`;
  return id === null ? `name:${name}\n${domain}` : `id:${id}`;
}

/** `PERSON_KEPT_COLUMNS` of a record. @param text it as JSON, without where they work */
export function personColumns(merged: KeptRecord, text: string): ColumnValue[] {
  const { doc } = merged;
  return columnsOf(merged, text, { profile: profileOf(doc), nameKey: nameKey(doc), rank: rankOf(doc) });
}

/** The same, where it is known already what is made of several fields. */
function columnsOf(merged: KeptRecord, text: string, derived: Pick<PreparedPerson, 'profile' | 'nameKey' | 'rank'>): ColumnValue[] {
  const { doc } = merged;
  const verifiedMs = Date.parse((doc['email_verified_at'] as string | undefined) ?? '');
  return [
    doc['id'] as string,
    textOrNull(doc['email']),
    derived.profile,
    textOrNull(doc['mobile']),
    derived.nameKey,
    textOrNull(doc['company_domain']),
    textOrNull(doc['email_status']),
    Number.isNaN(verifiedMs) ? null : verifiedMs,
    derived.rank,
    text,
    lackingInPerson(doc),
    merged.base.source,
    merged.base.atMs,
    fieldSources(merged),
  ];
}

export function sortKeysOf({ doc, base }: KeptRecord): SortKeys {
  return { id: doc['id'] as string, name: nameKey(doc), rank: rankOf(doc), updatedMs: base.atMs };
}

/** What somebody is found by. @param doc a record, where one works left out */
export function termsOf(doc: SparseRecord, atMs: number): ReturnType<typeof personTerms> {
  return personTerms(withName(doc), textOrNull(doc['company_name']), atMs);
}

function profileOf(person: SparseRecord): string | null {
  return typeof person['linkedin_url'] === 'string' ? profileKey(person['linkedin_url']) : null;
}

/** A person's name as it is compared and sorted. */
function nameKey(person: SparseRecord): string {
  return fold(nameOf(person) ?? '');
}
