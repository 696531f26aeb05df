/** Turns a mapped row into a person record and the record of the person's company. Pure. */
import { normaliseEmail, splitAddress } from '../../../verification/address.ts';
import { namesNoEmployer } from '../../../verification/lists.ts';
import type { Verdict } from '../../../verification/types.ts';
import { STATUS_OF } from '../../records/email-status.ts';
import { domainOf, numberOf } from '../../records/field-types.ts';
import { memberNames } from '../../http/member-names.ts';
import { ownText } from '../../http/own-text.ts';
import type { SparseRecord } from '../../records/whole-record.ts';
import { isObject } from '../../../util/is-object.ts';
import { NO_VALUE, textOrNull } from '../../http/values.ts';
import { isBlank } from '../../records/empty-words.ts';
import { countryName } from '../../../verification/countries.ts';
import { countryCode } from '../../records/countries.ts';
import { withCurrency } from '../../records/money.ts';
import { replaceSynonyms } from './synonyms.ts';
import { readNumbers } from './row-phones.ts';
import type { Target } from './column-names.ts';
import type { MappedRow } from './map-row.ts';

export interface Contact {
  readonly person: Record<string, unknown>;
  /** False when the person was not found, and the row has only a company. */
  readonly isFound: boolean;
  /** Null when the row has nothing about a company but its domain. */
  readonly company: ReportedCompany | null;
  /** When a run of Millrace verified the address. A verdict may be newer than the bought record. */
  readonly verdictAt: unknown;
  /** The employer is known only from the domain of the address. */
  readonly isEmployerDerived: boolean;
}

/** The values of a company in a row, and its domain, which the address may tell. */
export interface ReportedCompany {
  readonly values: SparseRecord;
  readonly domain: string;
}

/**
 * Returns null for an enriched row without a match and without new values.
 * @param row its values are changed in place, and become the person's
 */
export function contactOf(row: MappedRow): Contact | null {
  if (!hasContent(row)) return null;
  const person = row.values;
  replaceSynonyms(person);
  readNumbers(person);
  const outcome = person['result.outcome'];
  const state = emailState(row);
  const rowCompany = person['company'];
  let location: Record<string, unknown> | null = null;
  let flat: Record<string, unknown> | null = null;
  let at = places;
  for (const target in person) {
    at = at.to(target);
    const value = person[target];
    if (at.means === null || value === undefined) continue;
    person[target] = undefined;
    const { within, field } = at.means;
    if (within === 'company') (flat ??= {})[field] = value;
    else (location ??= isObject(person['location']) ? { ...person['location'] } : {})[field] = value;
  }
  if (state !== null) Object.assign(person, state);
  for (const target of BESIDE_FIELDS) if (person[target] !== undefined) person[target] = undefined;
  if (isObject(rowCompany)) person['company'] = undefined;
  const where = location ?? person['location'];
  const place = isObject(where) ? placeOf(where) : null;
  if (place !== null) person['location'] = place;
  return {
    // Rows may share the object, so it is copied where they add to it.
    ...withEmployer(person, !isObject(rowCompany) ? flat : flat === null ? rowCompany : { ...rowCompany, ...flat }),
    isFound: outcome !== 'no_match' || row.bought === 'person',
    verdictAt: outcome === undefined ? null : person['email_verified_at'],
  };
}

/** Targets that are not fields of the record. */
const BESIDE_FIELDS: readonly Target[] = [
  'verified',
  'verify.result',
  'verify.confidence',
  'verify.email',
  'verify.verified_at',
  'result.outcome',
];

/** Builds the row's company and the person's employer. */
function withEmployer(
  person: Record<string, unknown>,
  company: SparseRecord | null,
): Pick<Contact, 'person' | 'company' | 'isEmployerDerived'> {
  const { domain: reportedDomain, name } = company ?? NO_COMPANY;
  const named = typeof reportedDomain === 'string' ? domainOf(reportedDomain) : null;
  // For a private address, a column such as `Email Domain` has the mailbox provider.
  const domain = named !== null && isFree(named) && domainOfAddress(person['email']) === named ? null : named;
  const employer = domain ?? workDomain(person['email']);
  if (employer !== null) person['company_domain'] = employer;
  else if (typeof name === 'string') person['company_name'] = name;
  const isEmployerDerived = employer !== null && domain === null && typeof name !== 'string';
  if (company === null || employer === null || hasOnlyDomain(company)) return { person, company: null, isEmployerDerived };
  return { person, company: { values: company, domain: employer }, isEmployerDerived };
}

const NO_COMPANY: SparseRecord = {};

interface TargetPlace {
  readonly within: 'location' | 'company';
  readonly field: string;
}

/** The part of the record that each target belongs to; null for the person. */
const places = memberNames<TargetPlace | null>(null, (target) => {
  const within = (['location', 'company'] as const).find((part) => target.startsWith(`${part}.`));
  return within === undefined ? null : { within, field: target.slice(within.length + 1) };
});

/** Whether a company has only a domain. */
function hasOnlyDomain(company: SparseRecord): boolean {
  for (const field in company) if (field !== 'domain' && !isBlank(company[field])) return false;
  return true;
}

/** A row that failed at a later step still has the values that earlier steps bought. A row without a match has those of the other steps. */
function hasContent({ values, bought }: MappedRow): boolean {
  const outcome = values['result.outcome'];
  if (outcome === undefined || outcome === 'matched') return true;
  if (outcome === 'no_match') return bought !== null;
  return outcome === 'failed' && (bought !== null || statusOf(values['verify.result']) !== null);
}

function statusOf(verdict: unknown): (typeof STATUS_OF)[Verdict] | null {
  return typeof verdict === 'string' && Object.hasOwn(STATUS_OF, verdict) ? STATUS_OF[verdict as Verdict] : null;
}

/** Assigning this member would set the prototype. */
const NO_FIELD = '__proto__';

/** ISO 4217. */
const CURRENCY = /^[a-z]{3}$/i;

/**
 * A company record from flat fields (`hq.city`) and nested fields; null when only its domain is known.
 * @param domain takes the place of the values' own
 */
export function companyOf(values: SparseRecord, domain: string | null = null): Record<string, unknown> | null {
  const record = wholeCompany(values) ?? companyOfParts(values);
  if (domain !== null) record['domain'] = domain;
  const { employees: size, locations, revenue, revenue_currency: currency } = record;
  if (currency !== undefined) delete record['revenue_currency'];
  if (typeof currency === 'string' && CURRENCY.test(currency.trim()) && (typeof revenue === 'string' || typeof revenue === 'number'))
    record['revenue'] = withCurrency(String(revenue), currency.trim());
  if (Array.isArray(locations))
    record['locations'] = (locations as readonly unknown[]).map((one) => (isObject(one) ? (placeOf(one) ?? one) : one));
  if (typeof size === 'string' && /^\d[\d,]*\s*[-–]\s*\d[\d,]*$|^\d[\d,]*\+$/.test(size.trim())) {
    record['employees_range'] ??= size.replaceAll(/[\s,]/g, '').replace('–', '-');
    delete record['employees'];
  }
  for (const field in record) if (field !== 'domain' && field !== 'id') return record;
  return null;
}

/** The record of a company without flat or empty fields; null when it has some. V8 copies a complete object faster than single fields. */
function wholeCompany(values: SparseRecord): Record<string, unknown> | null {
  let at = seats;
  for (const field in values) {
    at = at.to(field);
    if (at.means !== null || isBlank(values[field])) return null;
  }
  const { hq, ...record }: Record<string, unknown> = values;
  const place = isObject(hq) ? placeOf(hq) : null;
  if (place !== null) record['hq'] = place;
  return record;
}

function companyOfParts(values: SparseRecord): Record<string, unknown> {
  const { hq } = values;
  const record: Record<string, unknown> = {};
  const seat: Record<string, unknown> = isObject(hq) ? { ...hq } : {};
  let at = seats;
  for (const field in values) {
    at = at.to(field);
    const value = values[field];
    if (value === undefined || field === 'hq') continue;
    if (at.means !== null) seat[at.means] = value;
    else if (!isBlank(value) && field !== NO_FIELD) record[field] = value;
  }
  const place = placeOf(seat);
  if (place !== null) record['hq'] = place;
  return record;
}

/** The part of the headquarters that a company field names; null for another field. */
const seats = memberNames(null, (field) => (field.startsWith('hq.') ? field.slice('hq.'.length) : null));

/** The status of the address from the verdict or `verified`, which are better than the row's own fields; null when they are empty. */
function emailState({ values, ownEmail }: MappedRow): SparseRecord | null {
  const status = statusOf(values['verify.result']);
  if (status !== null) {
    const email = normaliseEmail(textOrNull(values['email'] ?? ownEmail) ?? '');
    const aboutThis = email !== null && (ownEmail === undefined || normaliseEmail(textOrNull(ownEmail) ?? '') === email);
    if (aboutThis)
      return {
        email,
        email_status: status,
        email_confidence: values['verify.confidence'],
        email_verified_at: values['verify.verified_at'] ?? values['email_verified_at'],
      };
  }
  const { email_status: ownStatus, verified } = values;
  if (!isBlank(ownStatus) && ownStatus !== NO_VALUE) return null;
  return verified === true || (typeof verified === 'string' && /^true$/i.test(verified)) ? { email_status: 'verified' } : null;
}

/** A place with its country as code and as name; null when it is empty. */
function placeOf(reported: SparseRecord): SparseRecord | null {
  if (isCompletePlace(reported)) return reported;
  const place: Record<string, unknown> = { ...reported };
  for (const part of ['lat', 'lng']) if (place[part] !== undefined) place[part] = numberOf(place[part]) ?? place[part];
  const code = countryCode(textOrNull(place['country_code']) ?? '') ?? countryCode(textOrNull(place['country']) ?? '');
  if (code !== null) {
    place['country_code'] = code;
    place['country'] = countryName(code);
  } else if (!isBlank(place['country_code'])) place['country_code'] = NO_VALUE;
  return Object.values(place).every(isBlank) ? null : place;
}

function isCompletePlace(place: SparseRecord): boolean {
  for (const part in place) {
    const value = place[part];
    if (isBlank(value) || ((part === 'lat' || part === 'lng') && typeof value !== 'number')) return false;
  }
  const { country_code: code, country } = place;
  return typeof code === 'string' && countryCode(code) === code && countryName(code) === country;
}

/** Cache of the last domains. */
const freeProviders = new Map<string, boolean>();
const MAX_CACHED = 50_000;

/** The domain of an address, unless a mailbox provider owns it. */
function workDomain(email: unknown): string | null {
  const domain = domainOfAddress(email);
  return domain === null || isFree(domain) ? null : domain;
}

/** Null when the value is not an address. */
function domainOfAddress(email: unknown): string | null {
  const address = typeof email === 'string' ? normaliseEmail(email) : null;
  return address === null ? null : (splitAddress(address)?.domain ?? null);
}

/** Whether the domain belongs to a mailbox provider or a relay, and so to no employer. */
function isFree(domain: string): boolean {
  let free = freeProviders.get(domain);
  if (free === undefined) {
    free = namesNoEmployer(domain);
    if (freeProviders.size >= MAX_CACHED) freeProviders.clear();
    freeProviders.set(ownText(domain), free);
  }
  return free;
}
