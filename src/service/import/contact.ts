/** What a row says of a contact, as a person record and the record of the company they work at. Pure. */
import { splitAddress, normaliseEmail } from '../../verification/address.ts';
import { isFreeProvider } from '../../verification/lists.ts';
import type { Verdict } from '../../verification/types.ts';
import { STATUS_OF } from '../email-status.ts';
import { domainOf, numberOf } from '../field-types.ts';
import type { SparseRecord } from '../records.ts';
import { isEmpty, isObject, textOrNull } from '../values.ts';
import { countryCode, countryName } from './countries.ts';
import type { RowValues } from './row-values.ts';

export interface Contact {
  readonly person: SparseRecord;
  /** Null: the row says nothing of a company but its domain. */
  readonly company: SparseRecord | null;
  /** When the status of the address was learnt, where a run of Millrace says it: a verdict is of another time than the record that it was bought with. */
  readonly learntAt: unknown;
}

/** Null: a row of an enriched output for which nothing was found, so that it says nothing that was not known. */
export function contactOf(row: RowValues): Contact | null {
  const { values, ownEmail } = row;
  if (!saysSomething(row)) return null;
  const person: Record<string, unknown> = { ...values };
  const location: Record<string, unknown> = isObject(values['location']) ? { ...values['location'] } : {};
  const company: Record<string, unknown> = isObject(values['company']) ? { ...values['company'] } : {};
  for (const target in values) {
    const value = values[target];
    if (value === undefined) continue;
    const { within, field } = placeOfTarget(target);
    if (within === 'person') continue;
    person[target] = undefined;
    if (within === 'location') location[field] = value;
    else company[field] = value;
  }
  Object.assign(person, emailState(values, ownEmail));
  const place = placeOf(location);
  if (place !== null) person['location'] = place;
  const domain = typeof company['domain'] === 'string' ? domainOf(company['domain']) : null;
  const employer = domain ?? workDomain(person['email']);
  if (employer !== null) person['company_domain'] = employer;
  const record = employer === null || saysNoMore(company) ? null : companyOf({ ...company, domain: employer });
  if (employer === null && typeof company['name'] === 'string') person['company_name'] = company['name'];
  return { person, company: record, learntAt: values['result.outcome'] === undefined ? null : person['email_verified_at'] };
}

interface TargetPlace {
  readonly within: 'person' | 'location' | 'company';
  readonly field: string;
}

/** Where each target goes; there are as many as names.ts has. */
const places = new Map<string, TargetPlace>();

function placeOfTarget(target: string): TargetPlace {
  let place = places.get(target);
  if (place === undefined) {
    const within = (['location', 'company'] as const).find((part) => target.startsWith(`${part}.`));
    place = within === undefined ? { within: 'person', field: target } : { within, field: target.slice(within.length + 1) };
    places.set(target, place);
  }
  return place;
}

/** Whether nothing is said of a company but its domain. */
function saysNoMore(company: SparseRecord): boolean {
  for (const field in company) if (field !== 'domain' && !isEmpty(company[field])) return false;
  return true;
}

/** Of a row that failed at a later step stays what the earlier ones bought: a record, or a verdict. */
function saysSomething({ values, hasBought }: RowValues): boolean {
  const outcome = values['result.outcome'];
  if (outcome === undefined || outcome === 'matched') return true;
  return outcome === 'failed' && (hasBought || statusOf(values['verify.result']) !== null);
}

function statusOf(verdict: unknown): (typeof STATUS_OF)[Verdict] | null {
  return typeof verdict === 'string' && Object.hasOwn(STATUS_OF, verdict) ? STATUS_OF[verdict as Verdict] : null;
}

/** A company's fields from flat ones (`hq.city`) and whole ones; null when nothing but its domain is known. */
export function companyOf(values: SparseRecord): SparseRecord | null {
  const { hq } = values;
  const record: Record<string, unknown> = {};
  const seat: Record<string, unknown> = isObject(hq) ? { ...hq } : {};
  for (const field in values) {
    const value = values[field];
    if (field === 'hq' || value === undefined) continue;
    if (field.startsWith('hq.')) seat[field.slice('hq.'.length)] = value;
    else if (!isEmpty(value)) record[field] = value;
  }
  const place = placeOf(seat);
  if (place !== null) record['hq'] = place;
  const size = record['employees'];
  if (typeof size === 'string' && /^\d[\d,]*\s*[-–]\s*\d[\d,]*$|^\d[\d,]*\+$/.test(size.trim())) {
    record['employees_range'] ??= size.replaceAll(/[\s,]/g, '').replace('–', '-');
    delete record['employees'];
  }
  return Object.keys(record).some((field) => field !== 'domain' && field !== 'id') ? record : null;
}

function emailState(values: RowValues['values'], ownEmail: unknown): SparseRecord {
  const status = statusOf(values['verify.result']);
  if (status !== null) {
    const email = normaliseEmail(textOrNull(values['email'] ?? ownEmail) ?? '');
    const aboutThis = email !== null && (ownEmail === undefined || normaliseEmail(textOrNull(ownEmail) ?? '') === email);
    if (aboutThis) return { email, email_status: status, email_confidence: values['verify.confidence'], email_verified_at: values['verify.verified_at'] ?? values['email_verified_at'] };
  }
  if (!isEmpty(values['email_status'])) return {};
  return values['verified'] === true || /^true$/i.test(textOrNull(values['verified']) ?? '') ? { email_status: 'verified' } : {};
}

/** A place with its country by code and by name; null when it says nothing. */
function placeOf(given: SparseRecord): SparseRecord | null {
  const place: Record<string, unknown> = {};
  for (const part in given) {
    const value = part === 'lat' || part === 'lng' ? numberOf(given[part]) : given[part];
    if (!isEmpty(value)) place[part] = value;
  }
  const code = countryCode(textOrNull(place['country_code']) ?? textOrNull(place['country']) ?? '');
  if (code !== null) {
    place['country_code'] = code;
    place['country'] = countryName(code);
  }
  return Object.keys(place).length === 0 ? null : place;
}

const freeProviders = new Map<string, boolean>();
const MAX_REMEMBERED = 10_000;

/** The domain of somebody's address, where it is their employer's and no mailbox provider's. */
function workDomain(email: unknown): string | null {
  const address = typeof email === 'string' ? normaliseEmail(email) : null;
  const domain = address === null ? undefined : splitAddress(address)?.domain;
  if (domain === undefined) return null;
  let free = freeProviders.get(domain);
  if (free === undefined) {
    free = isFreeProvider(domain);
    if (freeProviders.size >= MAX_REMEMBERED) freeProviders.clear();
    freeProviders.set(domain, free);
  }
  return free ? null : domain;
}
