/** What a person and a company can be found by, as terms: `field=value` as values are compared, `field~word`, numbers, and flags. Pure. */
import { alike, remembering, words } from '../fold.ts';
import type { SparseRecord } from '../records.ts';
import { isObject, textOrNull } from '../values.ts';
import { DAY_MS, dayOf, numberTerms, type NumberName } from './numbers.ts';

/** On both sides; every row has it. */
export const EVERY = '*';
/** A degree has some 111 km; two decimals tell places apart by one. */
const PLACE_DECIMALS = 2;
const MAX_TERMS = 2_000;

/** The newest day of each kind of signal, and what its hiring signals say. */
export interface SignalFacts {
  readonly days: Readonly<Record<string, number>>;
  readonly hiring: readonly SparseRecord[];
}

/** In these a hyphen is more than a sign between words. */
const VERBATIM: readonly string[] = ['place', 'parent_domain'];

/** Terms that come from one value. The same value in the same field gives the same list, so that its numbers need not be looked up again. */
export type TermGroup = readonly string[];

const groups = new Map<string, (text: string) => TermGroup>();

/** Remembers for each field what its texts came to; fields are as many as there are in this file. */
function groupOf(field: string, sign: '=' | '~', text: string): TermGroup {
  const name = sign + field;
  let make = groups.get(name);
  if (make === undefined) {
    const form = VERBATIM.includes(field) ? (value: string): string => value : alike;
    make = remembering(sign === '=' ? (value) => [`${field}=${form(value)}`] : (value) => words(value).map((word) => `${field}~${word}`));
    groups.set(name, make);
  }
  return make(text);
}

const FLAGS: Readonly<Record<'has_email' | 'has_mobile' | 'has_linkedin', TermGroup>> = { has_email: ['has_email'], has_mobile: ['has_mobile'], has_linkedin: ['has_linkedin'] };
const EVERYBODY: TermGroup = [EVERY];

class Terms {
  readonly #groups: TermGroup[] = [EVERYBODY];
  #count = 1;

  exact(field: string, ...values: readonly unknown[]): void {
    for (const value of values.flat(1)) if (typeof value === 'string' && value !== '') this.#add(groupOf(field, '=', value));
  }

  words(field: string, ...values: readonly unknown[]): void {
    for (const value of values.flat(1)) if (typeof value === 'string') this.#add(groupOf(field, '~', value));
  }

  number(name: NumberName, value: unknown, of = ''): void {
    if (typeof value === 'number' && Number.isFinite(value)) this.#add(numberTerms(name, value, of));
  }

  flag(name: keyof typeof FLAGS, set: boolean): void {
    if (set) this.#add(FLAGS[name]);
  }

  get list(): readonly TermGroup[] {
    return this.#groups;
  }

  #add(group: TermGroup): void {
    const room = MAX_TERMS - this.#count;
    this.#groups.push(group.length <= room ? group : group.slice(0, room));
    this.#count += Math.min(group.length, room);
  }
}

/** @param companyName of an employer that has no record of its own; null otherwise */
export function personTerms(person: SparseRecord, companyName: string | null, updatedMs: number): readonly TermGroup[] {
  const terms = new Terms();
  terms.words('name', person['name'], person['name_aliases']);
  terms.exact('first_name', person['first_name']);
  terms.exact('last_name', person['last_name']);
  terms.words('title', person['title']);
  for (const field of ['title', 'seniority', 'department', 'sub_department', 'email_status', 'skills', 'languages']) terms.exact(field, person[field]);
  for (const { school, degree } of objects(person['education'])) {
    terms.words('school', school);
    terms.exact('degree', degree);
  }
  for (const past of objects(person['employment_history']).filter((job) => !isCurrent(job))) {
    terms.words('past_title', past['title']);
    terms.words('past_company', isObject(past['company']) ? past['company']['name'] : (past['company'] ?? past['company_name']));
  }
  const place = isObject(person['location']) ? person['location'] : {};
  terms.exact('country', place['country_code']);
  for (const part of ['region', 'city', 'postal_code']) terms.exact(part, place[part]);
  if (typeof place['lat'] === 'number' && typeof place['lng'] === 'number') terms.exact('place', placeName(place['lat'], place['lng']));
  terms.flag('has_email', textOrNull(person['email']) !== null);
  terms.flag('has_mobile', textOrNull(person['mobile']) !== null);
  terms.flag('has_linkedin', textOrNull(person['linkedin_url']) !== null);
  terms.words('employer', companyName);
  terms.number('years_experience', person['years_experience']);
  terms.number('role_started', dayOf(person['role_started_on']));
  terms.number('company_since', companySince(person));
  terms.number('job_changed', dayOf(person['job_changed_at']));
  if (updatedMs > 0) terms.number('updated', Math.floor(updatedMs / DAY_MS));
  return terms.list;
}

/** Since when somebody is with their employer: as their history says, else since their role began. */
export function companySince(person: SparseRecord): number | null {
  const starts = objects(person['employment_history']).filter(isCurrent).map(({ started_on: start }) => dayOf(start)).filter((day) => day !== null);
  return starts.length > 0 ? Math.min(...starts) : dayOf(person['role_started_on']);
}

export function companyTerms(company: SparseRecord, signals: SignalFacts): readonly TermGroup[] {
  const terms = new Terms();
  terms.words('company', company['name'], company['legal_name']);
  for (const field of ['industry', 'type', 'ticker', 'parent_domain', 'email_provider', 'keywords']) terms.exact(field, company[field]);
  for (const field of ['naics', 'sic']) for (const code of strings(company[field])) for (let length = 2; length <= Math.min(code.length, 6); length++) terms.exact(field, code.slice(0, length));
  const hq = isObject(company['hq']) ? company['hq'] : {};
  terms.exact('hq_country', hq['country_code']);
  terms.exact('hq_region', hq['region']);
  terms.exact('hq_city', hq['city']);
  terms.exact('technology', company['stack']);
  for (const { name, category } of objects(company['technologies'])) {
    terms.exact('technology', name);
    terms.exact('technology_category', category);
  }
  terms.number('employees', company['employees']);
  terms.number('revenue', company['revenue_usd']);
  terms.number('founded', company['founded_year']);
  const growth = isObject(company['headcount_growth']) ? company['headcount_growth']['m12'] : null;
  if (typeof growth === 'number') terms.number('growth_12m', growth * 1_000);
  for (const [department, size] of Object.entries(isObject(company['employees_by_department']) ? company['employees_by_department'] : {})) terms.number('department_size', size, alike(department));
  fundingTerms(terms, company['funding']);
  hiringTerms(terms, company['hiring'], signals.hiring);
  for (const [type, day] of Object.entries(signals.days)) terms.number('signal_day', day, type);
  return terms.list;
}

function fundingTerms(terms: Terms, funding: unknown): void {
  if (!isObject(funding)) return;
  terms.exact('funding_stage', funding['last_stage']);
  terms.exact('investor', funding['investors']);
  terms.number('funding_total', funding['total_usd']);
  terms.number('last_funding', funding['last_amount_usd']);
  terms.number('last_funded', dayOf(funding['last_date']));
}

function hiringTerms(terms: Terms, hiring: unknown, signals: readonly SparseRecord[]): void {
  const known = isObject(hiring) ? hiring : {};
  terms.number('open_roles', known['open_roles']);
  terms.number('hiring_posted', dayOf(known['last_posted_on']));
  for (const [part, term] of [['by_department', 'hiring_department'], ['by_country', 'hiring_location']] as const) {
    if (isObject(known[part])) terms.exact(term, Object.keys(known[part]));
  }
  for (const { titles, departments, locations } of signals) {
    terms.words('hiring_title', titles);
    terms.exact('hiring_department', departments);
    terms.exact('hiring_location', locations);
  }
}

/** A place as a term: to about a kilometre. */
export function placeName(lat: number, lng: number): string {
  return `${lat.toFixed(PLACE_DECIMALS)},${lng.toFixed(PLACE_DECIMALS)}`;
}

function isCurrent(job: SparseRecord): boolean {
  return job['is_current'] === true || ((job['is_current'] ?? null) === null && (job['ended_on'] ?? null) === null);
}

function objects(value: unknown): readonly SparseRecord[] {
  return Array.isArray(value) ? (value as readonly unknown[]).filter(isObject) : [];
}

function strings(value: unknown): readonly string[] {
  return Array.isArray(value) ? (value as readonly unknown[]).filter((item) => typeof item === 'string') : [];
}
