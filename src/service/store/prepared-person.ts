/** A person made ready for the store: all that does not depend on what the store has, so that it can be done elsewhere and ahead. Pure. */
import { profileKey } from '../../verification/profile-url.ts';
import { cleanOwn } from '../clean-record.ts';
import { plainMidnight } from '../days.ts';
import { fold } from '../fold.ts';
import { hasWholeName, nameOf, withName } from '../person-name.ts';
import { lackingInPerson, type SparseRecord } from '../records.ts';
import { IMPORTED_PERSON } from '../records/person.ts';
import { rankOf, type SortKeys } from '../search/sort-keys.ts';
import { LEFT_OUT, type TermSpan } from '../search/term-table.ts';
import { personTerms } from '../search/terms.ts';
import { textOrNull } from '../values.ts';
import { digest, wantedId } from './ids.ts';
import { fieldSources } from './kept-columns.ts';
import { bytesIn, type Texts, type TextSpan } from './kept-texts.ts';
import type { KeptRecord } from './merge.ts';
import { otherAddressesOf } from './other-addresses.ts';
import { numbersOf, otherNumbersOf } from './other-numbers.ts';
import type { Collectors, ColumnValue } from './prepared.ts';
import { MAX_DOC, type Refusal } from './put.ts';

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

/** What is known of a report besides what it says. */
export interface ReportFacts {
  /** Of when it is, and where it is known to be another time, of when the status of its address was learnt; epoch milliseconds. */
  readonly atMs: number;
  readonly learntMs: number | null;
  /** Nobody said where they work: it was derived from their address. */
  readonly isEmployerDerived: boolean;
}

/** What is kept of a record in columns of their own. */
interface PersonFacets {
  readonly mobile: string | null;
  readonly nameKey: string;
  readonly status: string | null;
  /** Epoch milliseconds. */
  readonly verifiedMs: number | null;
  readonly rank: number;
  readonly lacks: number | null;
}

/** Plain values alone, and each once: it is handed from thread to thread. Its text is the record as it is kept of somebody new, `newId` in it, where one works left out. */
export interface PreparedPerson extends PersonKeys, PersonFacets, ReportFacts, TermSpan, TextSpan {
  /** What somebody new is named by, where it is free. */
  readonly newId: string;
  /** Addresses beside the main one. */
  readonly others: readonly string[];
  /** E.164: mobile numbers, the main one first, and all numbers but that. */
  readonly mobiles: readonly string[];
  readonly otherNumbers: readonly string[];
  /** The text is longer than a record may be. */
  readonly isTooLarge: boolean;
  /** Fields whose value was none. */
  readonly dropped: readonly string[];
}

/** Makes a person ready, or says why they cannot be kept. @param record `company_domain` says where one works; it is changed, and of no use to others then */
export function preparePerson(record: Record<string, unknown>, { atMs, learntMs, isEmployerDerived }: ReportFacts, { terms, texts }: Collectors): PreparedPerson | Refusal {
  const dropped = cleanOwn(record, IMPORTED_PERSON);
  const keys = keysOf(record);
  if (keys.profile === null && record['linkedin_url'] !== undefined) {
    // The page of a company, as a rule. It would hide that there is none, and replace one.
    record['linkedin_url'] = undefined;
    dropped.push('linkedin_url');
  }
  const { email, profile, id, name, domain } = keys;
  if (email === null && profile === null && id === null && (name === null || domain === null)) {
    return { code: dropped.includes('email') ? 'bad_email' : 'no_identity', detail: 'a person needs a good e-mail address, a profile URL, an id, or a whole name and a company domain' };
  }
  const newId = wantedId(id, () => `pe_${digest(identityOf(keys))}`);
  record['id'] = newId;
  const { mobile, nameKey: kept, status, verifiedMs, rank, lacks } = facetsOf(record);
  // Where one works stands beside the record from here on.
  if (domain !== null) record['company_domain'] = undefined;
  const text = JSON.stringify(record);
  const { from, to } = terms?.add(termsOf(record, atMs)) ?? LEFT_OUT;
  const { textFrom, textTo } = texts.add(text);
  return {
    email, profile, id, name, domain, mobile, nameKey: kept, status, verifiedMs, rank, lacks, newId, others: otherAddressesOf(record), mobiles: numbersOf(record, 'mobile'),
    otherNumbers: otherNumbersOf(record), isTooLarge: text.length > MAX_DOC, dropped, atMs, learntMs, isEmployerDerived, from, to, textFrom, textTo,
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

function facetsOf(doc: SparseRecord): PersonFacets {
  const verified = doc['email_verified_at'];
  const verifiedMs = typeof verified === 'string' ? (plainMidnight(verified) ?? Date.parse(verified)) : NaN;
  return { mobile: textOrNull(doc['mobile']), nameKey: nameKey(doc), status: textOrNull(doc['email_status']), verifiedMs: Number.isNaN(verifiedMs) ? null : verifiedMs, rank: rankOf(doc), lacks: lackingInPerson(doc) };
}

/** `PERSON_KEPT_COLUMNS` of a record. @param text it as JSON, without where they work */
export function personColumns(merged: KeptRecord, text: string): ColumnValue[] {
  const { doc, base } = merged;
  const { mobile, nameKey: name, status, verifiedMs, rank, lacks } = facetsOf(doc);
  return [doc['id'] as string, textOrNull(doc['email']), profileOf(doc), mobile, name, textOrNull(doc['company_domain']), status, verifiedMs, rank, text, lacks, base.source, base.atMs, fieldSources(merged)];
}

/** The same of somebody new as they were made ready. */
export function newPersonColumns(person: PreparedPerson, source: number, texts: Texts): (ColumnValue | Texts)[] {
  const { newId, email, profile, mobile, nameKey: name, domain, status, verifiedMs, rank, lacks, atMs } = person;
  return [newId, email, profile, mobile, name, domain, status, verifiedMs, rank, bytesIn(texts, person), lacks, source, atMs, newFieldSources(person)];
}

const DERIVED = fieldSources({ others: {}, aside: { employer: { isDerived: true } } });

/** The column `field_sources` of somebody new. */
export function newFieldSources({ isEmployerDerived }: PreparedPerson): string | null {
  return isEmployerDerived ? DERIVED : null;
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
