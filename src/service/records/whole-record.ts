/** Whole person and company records as answers have them: every field, null for an unknown one. Pure. */
import { completer } from './stored-text.ts';
import { COMPANY_FIELDS } from './company-fields.ts';
import { PERSON_FIELDS } from './person-fields.ts';

/** Every field of a person record. */
export const RECORD_FIELDS: readonly string[] = [...PERSON_FIELDS, 'company'];

/** A record as the store has it: known fields only. */
export type SparseRecord = Readonly<Record<string, unknown>>;

/** A whole record: null for an unknown field. */
export type CompleteRecord = Record<string, unknown>;

const companies = completer(COMPANY_FIELDS, ['signals', 'updated_at']);
const people = completer(RECORD_FIELDS, ['updated_at', 'likelihood', 'matched_on', 'verified', 'company']);
const EMPTY_PERSON: CompleteRecord = Object.fromEntries(PERSON_FIELDS.map((field) => [field, null]));

/** How a lookup found a person. */
export interface Match {
  readonly matchedOn: readonly string[];
  /** The confidence that this is the person of the request, 0 to 100; null when the request named nobody. */
  readonly likelihood: number | null;
}

/** The fields that a company record lacks, one bit a field. */
export function absentCompanyFields(company: SparseRecord): number {
  return companies.absentFields(company);
}

/** The fields that a person record lacks, one bit a field. */
export function absentPersonFields(person: SparseRecord): number {
  return people.absentFields(person);
}

/** Whether the stored text of a person can be answered unchanged: it has the full name, and no name of the employer. */
export function isAnsweredAsStored(person: SparseRecord): boolean {
  return person['name'] !== undefined && person['company_name'] === undefined;
}

/** The members that an answer adds to the stored text of a company. */
interface CompanyFacts {
  /** JSON. */
  readonly signals: string | null;
  readonly updatedAt: string | null;
}

/** The whole company record as JSON. @param absent fields of the stored text */
export function companyText(stored: string, { signals, updatedAt }: CompanyFacts, absent: number): string {
  return companies.complete(stored, `"signals":${signals ?? 'null'},"updated_at":${quoted(updatedAt)}`, absent);
}

/** The members that an answer adds to the stored text of a person. */
interface PersonFacts {
  readonly isVerified: boolean;
  readonly updatedAt: string | null;
  /** JSON. */
  readonly company: string | null;
}

/** The whole person record as JSON. @param stored without the members that no answer has @param absent fields of `stored` */
export function personText(
  stored: string,
  { isVerified, updatedAt, company }: PersonFacts,
  { likelihood, matchedOn }: Match,
  absent: number,
): string {
  return people.complete(
    stored,
    `"updated_at":${quoted(updatedAt)},"likelihood":${likelihood},"matched_on":${JSON.stringify(matchedOn)},` +
      `"verified":${isVerified},"company":${company ?? 'null'}`,
    absent,
  );
}

/** A time as JSON. */
function quoted(time: string | null): string {
  return time === null ? 'null' : `"${time}"`;
}

/** The whole person record without `company`. @param person null: every field is null, and `verified` is false */
export function completePerson(person: SparseRecord | null, match: Match): CompleteRecord {
  return {
    ...EMPTY_PERSON,
    ...person,
    likelihood: match.likelihood,
    matched_on: match.matchedOn,
    verified: person !== null && person['email_status'] === 'verified',
  };
}

/** A person record with `fields` alone (null: all of them). @param company JSON */
export function recordText(person: CompleteRecord, company: string | null, fields: readonly string[] | null): string {
  const nested = `"company":${company ?? 'null'}}`;
  if (fields === null) return `${JSON.stringify(person).slice(0, -1)},${nested}`;
  const text = JSON.stringify(
    Object.fromEntries(PERSON_FIELDS.filter((field) => fields.includes(field)).map((field) => [field, person[field]])),
  );
  if (!fields.includes('company')) return text;
  return text === '{}' ? `{${nested}` : `${text.slice(0, -1)},${nested}`;
}
