/** What a row says of a contact, as a person record and the record of the company they work at. Pure. */
import { normaliseEmail } from '../../verification/address.ts';
import type { Verdict } from '../../verification/types.ts';
import { STATUS_OF } from '../email-status.ts';
import { domainOf, numberOf } from '../field-types.ts';
import { memberNames } from '../member-names.ts';
import type { SparseRecord } from '../records.ts';
import { isEmpty, isObject, NO_VALUE, textOrNull } from '../values.ts';
import { countryCode, countryName } from '../countries.ts';
import { useKnownWords } from './known-words.ts';
import { takeApart } from './list-items.ts';
import type { Target } from './names.ts';
import type { RowValues } from './row-values.ts';
import { domainOfAddress, isFree, workDomain } from './work-domain.ts';

export interface Contact {
  readonly person: Record<string, unknown>;
  /** False: they were not found, and the row is of the company alone. */
  readonly isFound: boolean;
  /** Null: the row says nothing of a company but its domain. */
  readonly company: Record<string, unknown> | null;
  /** When the status of the address was learnt, where a run of Millrace says it: a verdict is of another time than the record that it was bought with. */
  readonly learntAt: unknown;
  /** Where they work is nothing but the domain of their address. */
  readonly isEmployerDerived: boolean;
}

/** Null: a row of an enriched output for which nothing was found, so that it says nothing that was not known. @param row its values become the person's */
export function contactOf(row: RowValues): Contact | null {
  if (!saysSomething(row)) return null;
  const person = row.values;
  useKnownWords(person);
  takeApart(person);
  const outcome = person['result.outcome'];
  const state = emailState(row);
  const given = person['company'];
  let [location, company]: [Record<string, unknown> | null, Record<string, unknown> | null] = [null, isObject(given) ? { ...given } : null];
  let at = places;
  for (const target in person) {
    at = at.to(target);
    const value = person[target];
    if (at.means === null || value === undefined) continue;
    person[target] = undefined;
    const { within, field } = at.means;
    if (within === 'company') (company ??= {})[field] = value;
    else (location ??= isObject(person['location']) ? { ...person['location'] } : {})[field] = value;
  }
  if (state !== null) Object.assign(person, state);
  for (const target of BESIDE_FIELDS) if (person[target] !== undefined) person[target] = undefined;
  if (isObject(given)) person['company'] = undefined;
  const where = location ?? person['location'];
  const place = isObject(where) ? placeOf(where) : null;
  if (place !== null) person['location'] = place;
  return { ...withEmployer(person, company), isFound: outcome !== 'no_match' || row.bought === 'somebody', learntAt: outcome === undefined ? null : person['email_verified_at'] };
}

/** Targets that are no fields of the record. */
const BESIDE_FIELDS: readonly Target[] = ['verified', 'verify.result', 'verify.confidence', 'verify.email', 'verify.verified_at', 'result.outcome'];

/** What the row says of a company, and where it says that they work. */
function withEmployer(person: Record<string, unknown>, company: Record<string, unknown> | null): Pick<Contact, 'person' | 'company' | 'isEmployerDerived'> {
  const { domain: given, name } = company ?? NO_COMPANY;
  const named = typeof given === 'string' ? domainOf(given) : null;
  // A column such as `Email Domain` has the mailbox provider of whoever has a private address.
  const domain = named !== null && isFree(named) && domainOfAddress(person['email']) === named ? null : named;
  const employer = domain ?? workDomain(person['email']);
  if (employer !== null) person['company_domain'] = employer;
  else if (typeof name === 'string') person['company_name'] = name;
  const isEmployerDerived = employer !== null && domain === null && typeof name !== 'string';
  if (company === null || employer === null || saysNoMore(company)) return { person, company: null, isEmployerDerived };
  company['domain'] = employer;
  return { person, company: companyOf(company), isEmployerDerived };
}

const NO_COMPANY: SparseRecord = {};

interface TargetPlace {
  readonly within: 'location' | 'company';
  readonly field: string;
}

/** Where each target goes; null: to the person. */
const places = memberNames<TargetPlace | null>(null, (target) => {
  const within = (['location', 'company'] as const).find((part) => target.startsWith(`${part}.`));
  return within === undefined ? null : { within, field: target.slice(within.length + 1) };
});

/** Whether nothing is said of a company but its domain. */
function saysNoMore(company: SparseRecord): boolean {
  for (const field in company) if (field !== 'domain' && !isEmpty(company[field])) return false;
  return true;
}

/** Of a row that failed at a later step stays what the earlier ones bought: a record, or a verdict. Of one that was no match stays what other steps bought. */
function saysSomething({ values, bought }: RowValues): boolean {
  const outcome = values['result.outcome'];
  if (outcome === undefined || outcome === 'matched') return true;
  if (outcome === 'no_match') return bought !== null;
  return outcome === 'failed' && (bought !== null || statusOf(values['verify.result']) !== null);
}

function statusOf(verdict: unknown): (typeof STATUS_OF)[Verdict] | null {
  return typeof verdict === 'string' && Object.hasOwn(STATUS_OF, verdict) ? STATUS_OF[verdict as Verdict] : null;
}

/** In the place of a member it would be what an object has all others from. */
const NO_FIELD = '__proto__';

/** A company's fields from flat ones (`hq.city`) and whole ones; null when nothing but its domain is known. */
export function companyOf(values: SparseRecord): Record<string, unknown> | null {
  const record = wholeCompany(values) ?? companyOfParts(values);
  const size = record['employees'];
  if (typeof size === 'string' && /^\d[\d,]*\s*[-–]\s*\d[\d,]*$|^\d[\d,]*\+$/.test(size.trim())) {
    record['employees_range'] ??= size.replaceAll(/[\s,]/g, '').replace('–', '-');
    delete record['employees'];
  }
  for (const field in record) if (field !== 'domain' && field !== 'id') return record;
  return null;
}

/** A company of which no field is flat or says nothing, its headquarters last; null: it is not so. What is copied at once V8 is fast with, and with what is put together field by field it is not. */
function wholeCompany(values: SparseRecord): Record<string, unknown> | null {
  let at = seats;
  for (const field in values) {
    at = at.to(field);
    if (at.means !== null || isEmpty(values[field])) return null;
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
    else if (!isEmpty(value) && field !== NO_FIELD) record[field] = value;
  }
  const place = placeOf(seat);
  if (place !== null) record['hq'] = place;
  return record;
}

/** Which part of the headquarters a field of a company is; null: none. */
const seats = memberNames(null, (field) => (field.startsWith('hq.') ? field.slice('hq.'.length) : null));

/** What is known of the address better than the row's own fields say it; null: nothing. */
function emailState({ values, ownEmail }: RowValues): SparseRecord | null {
  const status = statusOf(values['verify.result']);
  if (status !== null) {
    const email = normaliseEmail(textOrNull(values['email'] ?? ownEmail) ?? '');
    const aboutThis = email !== null && (ownEmail === undefined || normaliseEmail(textOrNull(ownEmail) ?? '') === email);
    if (aboutThis) return { email, email_status: status, email_confidence: values['verify.confidence'], email_verified_at: values['verify.verified_at'] ?? values['email_verified_at'] };
  }
  const { email_status: told, verified } = values;
  if (!isEmpty(told) && told !== NO_VALUE) return null;
  return verified === true || (typeof verified === 'string' && /^true$/i.test(verified)) ? { email_status: 'verified' } : null;
}

/** A place with its country by code and by name; null when it says nothing. Most are so already. */
function placeOf(given: SparseRecord): SparseRecord | null {
  if (isGoodPlace(given)) return given;
  const place: Record<string, unknown> = { ...given };
  for (const part of ['lat', 'lng']) if (place[part] !== undefined) place[part] = numberOf(place[part]) ?? place[part];
  const code = countryCode(textOrNull(place['country_code']) ?? textOrNull(place['country']) ?? '');
  if (code !== null) {
    place['country_code'] = code;
    place['country'] = countryName(code);
  }
  return Object.values(place).every(isEmpty) ? null : place;
}

function isGoodPlace(place: SparseRecord): boolean {
  for (const part in place) {
    const value = place[part];
    if (isEmpty(value) || ((part === 'lat' || part === 'lng') && typeof value !== 'number')) return false;
  }
  const { country_code: code, country } = place;
  return typeof code === 'string' && countryCode(code) === code && countryName(code) === country;
}
