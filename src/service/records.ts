/** Whole person and company records: every field, null where nothing is known. Pure. */
import { completer } from './kept-text.ts';
import { COMPANY_FIELDS } from './records/company.ts';
import { PERSON_FIELDS } from './records/person.ts';

/** Every top-level name that a person record has. */
export const RECORD_FIELDS: readonly string[] = [...PERSON_FIELDS, 'company'];

/** A record as the store keeps it: only what is known. */
export type SparseRecord = Readonly<Record<string, unknown>>;

/** A whole record: null where nothing is known. */
export type Filled = Record<string, unknown>;

const companies = completer(COMPANY_FIELDS, ['signals', 'updated_at']);
const people = completer(RECORD_FIELDS, ['updated_at', 'likelihood', 'matched_on', 'verified', 'company']);
const EMPTY_PERSON: Filled = Object.fromEntries(PERSON_FIELDS.map((field) => [field, null]));

/** What a lookup found and how, to become an answer. */
export interface Match {
  readonly matchedOn: readonly string[];
  /** How sure it is that this is the person asked for, 0..100; null when none was asked for. */
  readonly likelihood: number | null;
}

/** Which fields a company's record has not, as it is kept with its text. */
export function lackingInCompany(company: SparseRecord): number {
  return companies.lacking(company);
}

/** The same of a person's. Null: their text is not answered as it is, for the name has to be made of its parts or the employer's taken out. */
export function lackingInPerson(person: SparseRecord): number | null {
  return person['name'] === undefined || person['company_name'] !== undefined ? null : people.lacking(person);
}

/** What an answer says of a company besides its kept text: JSON, or null. */
export interface CompanyFacts {
  readonly signals: string | null;
  readonly updatedAt: string | null;
}

/** The whole company record as JSON text. @param kept as it is in the store @param lacking of it; null: not known */
export function companyText(kept: string, { signals, updatedAt }: CompanyFacts, lacking: number | null): string {
  return companies.complete(kept, `"signals":${signals ?? 'null'},"updated_at":${quoted(updatedAt)}`, lacking);
}

/** What an answer says of a person besides their kept text. */
export interface PersonFacts {
  readonly isVerified: boolean;
  readonly updatedAt: string | null;
  /** Its text; null: none. */
  readonly company: string | null;
}

/** The same of a person. @param kept as it is in the store, but for what only the store needs */
export function personText(kept: string, { isVerified, updatedAt, company }: PersonFacts, { likelihood, matchedOn }: Match, lacking: number | null): string {
  return people.complete(kept, `"updated_at":${quoted(updatedAt)},"likelihood":${likelihood},"matched_on":${JSON.stringify(matchedOn)},"verified":${isVerified},"company":${company ?? 'null'}`, lacking);
}

/** A time as JSON. */
function quoted(time: string | null): string {
  return time === null ? 'null' : `"${time}"`;
}

/** The whole person record, without `company`. `person` null: all of it null, but `verified`, which is false. */
export function fillPerson(person: SparseRecord | null, match: Match): Filled {
  return {
    ...EMPTY_PERSON,
    ...person,
    likelihood: match.likelihood,
    matched_on: match.matchedOn,
    verified: person !== null && person['email_status'] === 'verified',
  };
}

/** A person record cut down to `fields` (null: all), with its company's text put in as it is. */
export function recordText(person: Filled, company: string | null, fields: readonly string[] | null): string {
  const nested = `"company":${company ?? 'null'}}`;
  if (fields === null) return `${JSON.stringify(person).slice(0, -1)},${nested}`;
  const kept = JSON.stringify(Object.fromEntries(PERSON_FIELDS.filter((field) => fields.includes(field)).map((field) => [field, person[field]])));
  if (!fields.includes('company')) return kept;
  return kept === '{}' ? `{${nested}` : `${kept.slice(0, -1)},${nested}`;
}
