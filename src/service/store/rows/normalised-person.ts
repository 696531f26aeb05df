/** Normalises a person for the store: does everything that does not depend on stored data, so that another thread can do it. Pure. */
import { profileKey } from '../../../verification/profile-url.ts';
import { cleanInPlace } from '../../records/clean-record.ts';
import { plainMidnight } from '../../records/parse-date.ts';
import { normalise } from '../../records/normalise.ts';
import { hasWholeName, fullName, withName } from '../../records/person-name.ts';
import { absentPersonFields, isAnsweredAsStored, type SparseRecord } from '../../records/whole-record.ts';
import { IMPORTED_PERSON } from '../../records/person-fields.ts';
import { rankOf, type SortKeys } from '../index/sort-keys.ts';
import { SKIPPED, type TermSpan } from '../index/term-table.ts';
import { personTerms } from '../index/terms.ts';
import { textOrNull } from '../../http/values.ts';
import { digest, preferredId } from '../identity/ids.ts';
import { fieldSources } from './record-columns.ts';
import { bytesIn, type Texts, type TextSpan } from './text-blobs.ts';
import type { MergedRecord, Provenance } from '../merge/merge.ts';
import { shownTime } from '../merge/observed-at.ts';
import { otherAddressesOf } from '../identity/other-addresses.ts';
import { numbersOf, otherNumbersOf } from '../identity/other-numbers.ts';
import type { Collectors, ColumnValue } from './normalised.ts';
import { MAX_RECORD_CHARS, type Refusal } from './upsert-result.ts';

/** The identifying keys of a person. */
export interface PersonKeys {
  readonly email: string | null;
  readonly profile: string | null;
  /** As reported. */
  readonly id: string | null;
  /** A full name, normalised. */
  readonly name: string | null;
  readonly domain: string | null;
}

export const STORED_PERSON_COLUMNS = [
  'id',
  'email',
  'profile',
  'mobile',
  'name_key',
  'company_domain',
  'email_status',
  'email_verified_at',
  'rank',
  'doc',
  'absent_fields',
  'source',
  'observed_at',
  'field_sources',
] as const;

/** Facts about a report that are not in its record. */
export interface ReportFacts {
  /** Time of the report, and of the address's status where that differs; epoch milliseconds. */
  readonly atMs: number;
  readonly verdictMs: number | null;
  /** The report has no employer: it was derived from the address. */
  readonly isEmployerDerived: boolean;
}

/** Values with columns of their own. */
interface PersonFacets {
  readonly mobile: string | null;
  readonly nameKey: string;
  readonly status: string | null;
  /** Epoch milliseconds. */
  readonly verifiedMs: number | null;
  readonly rank: number;
  readonly absentFields: number | null;
}

/**
 * Plain values, each once, because it is passed between threads. The text is the record of a new person, with `newId` and without the
 * employer.
 */
export interface NormalisedPerson extends PersonKeys, PersonFacets, ReportFacts, TermSpan, TextSpan {
  /** The preferred id of a new person. */
  readonly newId: string;
  /** Addresses beside the main one. */
  readonly others: readonly string[];
  /** E.164: all mobile numbers, the main one first, and all numbers but the main one. */
  readonly mobiles: readonly string[];
  readonly otherNumbers: readonly string[];
  /** The text is longer than a record may be. */
  readonly isTooLarge: boolean;
  /** Fields with a bad value. */
  readonly dropped: readonly string[];
}

/**
 * Normalises a person, or returns why the report is rejected.
 * @param record `company_domain` is the employer; it is changed, do not use it afterwards
 */
export function normalisePerson(
  record: Record<string, unknown>,
  { atMs, verdictMs, isEmployerDerived }: ReportFacts,
  { terms, texts }: Collectors,
): NormalisedPerson | Refusal {
  const dropped = cleanInPlace(record, IMPORTED_PERSON);
  const keys = keysOf(record);
  if (keys.profile === null && record['linkedin_url'] !== undefined) {
    // Usually a company's page. It must not replace a person's profile, nor look like one.
    record['linkedin_url'] = undefined;
    dropped.push('linkedin_url');
  }
  const { email, profile, id, name, domain } = keys;
  if (email === null && profile === null && id === null && (name === null || domain === null)) {
    return {
      code: dropped.includes('email') ? 'bad_email' : 'no_identity',
      detail: 'a person needs a good e-mail address, a profile URL, an id, or a whole name and a company domain',
    };
  }
  const newId = preferredId(id, () => `pe_${digest(identityOf(keys))}`);
  record['id'] = newId;
  const { mobile, nameKey: stored, status, verifiedMs, rank, absentFields } = facetsOf(record);
  // From here on the employer is not part of the record.
  if (domain !== null) record['company_domain'] = undefined;
  const text = JSON.stringify(record);
  const { from, to } = terms?.add(termsOf(record, atMs)) ?? SKIPPED;
  const { textFrom, textTo } = texts.add(text);
  return {
    email,
    profile,
    id,
    name,
    domain,
    mobile,
    nameKey: stored,
    status,
    verifiedMs,
    rank,
    absentFields,
    newId,
    others: otherAddressesOf(record),
    mobiles: numbersOf(record, 'mobile'),
    otherNumbers: otherNumbersOf(record),
    isTooLarge: text.length > MAX_RECORD_CHARS,
    dropped,
    atMs,
    verdictMs,
    isEmployerDerived,
    from,
    to,
    textFrom,
    textTo,
  };
}

/** The identifying keys of a record with its employer. */
function keysOf(record: SparseRecord): PersonKeys {
  return {
    email: textOrNull(record['email']),
    profile: profileOf(record),
    id: textOrNull(record['id']),
    name: hasWholeName(record) ? nameKey(record) : null,
    domain: textOrNull(record['company_domain']),
  };
}

/** The identity from which a new person's id is derived. */
function identityOf({ email, profile, id, name, domain }: PersonKeys): string {
  if (email !== null) return `email:${email}`;
  if (profile !== null) return `profile:${profile}`;
  return id === null ? `name:${name}\n${domain}` : `id:${id}`;
}

function facetsOf(doc: SparseRecord): PersonFacets {
  const verified = doc['email_verified_at'];
  const verifiedMs = typeof verified === 'string' ? (plainMidnight(verified) ?? Date.parse(verified)) : NaN;
  return {
    mobile: textOrNull(doc['mobile']),
    nameKey: nameKey(doc),
    status: textOrNull(doc['email_status']),
    verifiedMs: Number.isNaN(verifiedMs) ? null : verifiedMs,
    rank: rankOf(doc),
    absentFields: isAnsweredAsStored(doc) ? absentPersonFields(doc) : null,
  };
}

/**
 * Values of `STORED_PERSON_COLUMNS`.
 * @param text the record as JSON, without the employer
 * @param isShared another row has its main address
 */
export function personColumns(merged: MergedRecord, text: string, isShared: boolean): ColumnValue[] {
  const { doc, base } = merged;
  const keys = { newId: doc['id'] as string, email: isShared ? null : textOrNull(doc['email']), profile: profileOf(doc) };
  return columnsOf({ ...facetsOf(doc), ...keys, domain: textOrNull(doc['company_domain']) }, text, base, fieldSources(merged));
}

/** Values of `STORED_PERSON_COLUMNS` for a new person. */
export function newPersonColumns(person: NormalisedPerson, source: number, texts: Texts): (ColumnValue | Texts)[] {
  return columnsOf(person, bytesIn(texts, person), { source, atMs: person.atMs }, newFieldSources(person));
}

function columnsOf<Text>(
  of: PersonFacets & Pick<NormalisedPerson, 'newId' | 'email' | 'profile' | 'domain'>,
  text: Text,
  { source, atMs }: Provenance,
  sources: string | null,
): (ColumnValue | Text)[] {
  const keys = [of.newId, of.email, of.profile, of.mobile, of.nameKey, of.domain];
  return [...keys, of.status, of.verifiedMs, of.rank, text, of.absentFields, source, atMs, sources];
}

const DERIVED = fieldSources({ others: {}, mergeState: { employer: { isDerived: true } } });

/** The column `field_sources` of a new person. */
export function newFieldSources({ isEmployerDerived }: NormalisedPerson): string | null {
  return isEmployerDerived ? DERIVED : null;
}

export function sortKeysOf({ doc, base }: MergedRecord): SortKeys {
  return { id: doc['id'] as string, name: nameKey(doc), rank: rankOf(doc), updatedMs: shownTime(base.atMs) };
}

/** The search terms of a record. @param doc without the employer's domain */
export function termsOf(doc: SparseRecord, atMs: number): ReturnType<typeof personTerms> {
  return personTerms(withName(doc), textOrNull(doc['company_name']), shownTime(atMs));
}

function profileOf(person: SparseRecord): string | null {
  return typeof person['linkedin_url'] === 'string' ? profileKey(person['linkedin_url']) : null;
}

/** The name as it is compared and sorted. */
function nameKey(person: SparseRecord): string {
  return normalise(fullName(person) ?? '');
}
