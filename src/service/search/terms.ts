/** What a person and a company can be found by, as numbers of terms: `field=value` as values are compared, `field~word`, numbers, and flags. Pure. */
import { DAY_MS } from '../days.ts';
import { alike } from '../fold.ts';
import type { SparseRecord } from '../records.ts';
import { isObject, textOrNull } from '../values.ts';
import { NumberField, termNumber, TextField } from './dictionary.ts';
import { dayOf, NUMBERS, type NumberName } from './numbers.ts';

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

export const NO_SIGNALS: SignalFacts = { days: {}, hiring: [] };

const TEXT_NAMES = [
  'name', 'first_name', 'last_name', 'title', 'seniority', 'department', 'sub_department', 'email_status', 'skills', 'languages', 'school', 'degree', 'past_title', 'past_company', 'country', 'region', 'city', 'postal_code',
  'place', 'employer', 'company', 'industry', 'type', 'ticker', 'parent_domain', 'email_provider', 'keywords', 'naics', 'sic', 'hq_country', 'hq_region', 'hq_city', 'technology', 'technology_category', 'funding_stage', 'investor',
  'hiring_department', 'hiring_location', 'hiring_title',
] as const;
type TextName = (typeof TEXT_NAMES)[number];

/** In these a hyphen is more than a sign between words. */
const VERBATIM: readonly string[] = ['place', 'parent_domain'];

const TEXTS = Object.fromEntries(TEXT_NAMES.map((name) => [name, new TextField(name, VERBATIM.includes(name) ? (text) => text : alike)])) as Record<TextName, TextField>;
const NUMBER_FIELDS = Object.fromEntries((Object.keys(NUMBERS) as NumberName[]).map((name) => [name, new NumberField(name)])) as Record<NumberName, NumberField>;

/** Terms as the numbers that `dictionary.ts` has of them. */
class Terms {
  readonly list: number[] = [termNumber(EVERY)];

  exact(name: TextName, value: unknown): void {
    if (typeof value === 'string') {
      if (value !== '') this.#add(TEXTS[name].exact(value));
    } else if (Array.isArray(value)) {
      for (const item of value as readonly unknown[]) if (typeof item === 'string' && item !== '') this.#add(TEXTS[name].exact(item));
    }
  }

  words(name: TextName, value: unknown): void {
    if (typeof value === 'string') this.#addAll(TEXTS[name].words(value));
    else if (Array.isArray(value)) for (const item of value as readonly unknown[]) if (typeof item === 'string') this.#addAll(TEXTS[name].words(item));
  }

  number(name: NumberName, value: unknown, of = ''): void {
    if (typeof value === 'number' && Number.isFinite(value)) this.#addAll(NUMBER_FIELDS[name].terms(value, of));
  }

  flag(name: 'has_email' | 'has_mobile' | 'has_linkedin', set: boolean): void {
    if (set) this.#add(termNumber(name));
  }

  #add(term: number): void {
    if (this.list.length < MAX_TERMS) this.list.push(term);
  }

  #addAll(terms: readonly number[]): void {
    for (const term of terms) this.#add(term);
  }
}

/** @param companyName of an employer that has no record of its own; null otherwise */
export function personTerms(person: SparseRecord, companyName: string | null, updatedMs: number): readonly number[] {
  const terms = new Terms();
  terms.words('name', person['name']);
  terms.words('name', person['name_aliases']);
  terms.exact('first_name', person['first_name']);
  terms.exact('last_name', person['last_name']);
  terms.words('title', person['title']);
  for (const field of ['title', 'seniority', 'department', 'sub_department', 'email_status', 'skills', 'languages'] as const) terms.exact(field, person[field]);
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
  for (const part of ['region', 'city', 'postal_code'] as const) terms.exact(part, place[part]);
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
function companySince(person: SparseRecord): number | null {
  const starts = objects(person['employment_history']).filter(isCurrent).map(({ started_on: start }) => dayOf(start)).filter((day) => day !== null);
  return starts.length > 0 ? Math.min(...starts) : dayOf(person['role_started_on']);
}

export function companyTerms(company: SparseRecord, signals: SignalFacts): readonly number[] {
  const terms = new Terms();
  terms.words('company', company['name']);
  terms.words('company', company['legal_name']);
  for (const field of ['industry', 'type', 'ticker', 'parent_domain', 'email_provider', 'keywords'] as const) terms.exact(field, company[field]);
  for (const field of ['naics', 'sic'] as const) for (const code of strings(company[field])) for (let length = 2; length <= Math.min(code.length, 6); length++) terms.exact(field, code.slice(0, length));
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
  for (const [department, size] of departmentSizes(company['employees_by_department'])) terms.number('department_size', size, department);
  fundingTerms(terms, company['funding']);
  hiringTerms(terms, company['hiring'], signals.hiring);
  for (const [type, day] of Object.entries(signals.days)) terms.number('signal_day', day, type);
  return terms.list;
}

/** By names as they are compared: of those that are alike the greatest counts, for the digits of two numbers would be those of a third. */
function departmentSizes(sizes: unknown): ReadonlyMap<string, number> {
  const greatest = new Map<string, number>();
  for (const [department, size] of Object.entries(isObject(sizes) ? sizes : {})) {
    if (typeof size !== 'number' || !Number.isFinite(size)) continue;
    const name = alike(department);
    greatest.set(name, Math.max(size, greatest.get(name) ?? size));
  }
  return greatest;
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
function placeName(lat: number, lng: number): string {
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
