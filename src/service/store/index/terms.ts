/**
 * The terms of a person and of a company: `field=value` (normalised), `field~word`, bit slices of numbers, and flags. A new text field
 * needs a name in `TEXT_NAMES` and a line in `personTerms` or `companyTerms`; a new number a row in `SLICED_FIELDS` and such a line. Pure.
 */
import { DAY_MS } from '../../records/parse-date.ts';
import { alike } from '../../records/normalise.ts';
import { memberNames } from '../../http/member-names.ts';
import type { SparseRecord } from '../../records/whole-record.ts';
import { isObject } from '../../../util/is-object.ts';
import { textOrNull } from '../../http/values.ts';
import { CODE_DIGITS } from '../../records/filter-value.ts';
import { NumberField, internTerm, TextField } from './term-dictionary.ts';
import { SLICED_FIELDS, type SlicedField } from './bit-slices.ts';
import { dayOf } from '../../records/parse-date.ts';

/** The term of every row, of people and of companies. */
export const EVERY = '*';
/** Two decimals of a degree are about a kilometre. */
const PLACE_DECIMALS = 2;
const MAX_TERMS = 2_000;

/** The newest day of each type of signal, and the data of hiring signals. */
export interface SignalFacts {
  readonly days: Readonly<Record<string, number>>;
  readonly hiring: readonly SparseRecord[];
}

export const NO_SIGNALS: SignalFacts = { days: {}, hiring: [] };

const TEXT_NAMES = [
  'name',
  'first_name',
  'last_name',
  'title',
  'seniority',
  'department',
  'sub_department',
  'email_status',
  'skills',
  'languages',
  'school',
  'degree',
  'past_title',
  'past_company',
  'country',
  'region',
  'city',
  'postal_code',
  'place',
  'employer',
  'company',
  'industry',
  'type',
  'ticker',
  'parent_domain',
  'email_provider',
  'keywords',
  'naics',
  'sic',
  'hq_country',
  'hq_region',
  'hq_city',
  'technology',
  'technology_category',
  'funding_stage',
  'investor',
  'hiring_department',
  'hiring_location',
  'hiring_title',
] as const;
type TextName = (typeof TEXT_NAMES)[number];

/** In these fields a hyphen is part of the value. */
const VERBATIM: readonly string[] = ['place', 'parent_domain'];

const TEXTS = Object.fromEntries(
  TEXT_NAMES.map((name) => [name, new TextField(name, VERBATIM.includes(name) ? (text) => text : alike)]),
) as Record<TextName, TextField>;
const NUMBER_FIELDS = Object.fromEntries(
  (Object.keys(SLICED_FIELDS) as SlicedField[]).map((name) => [name, new NumberField(name)]),
) as Record<SlicedField, NumberField>;

/** Collects terms, as numbers of the term dictionary. */
class Terms {
  readonly list: number[] = [internTerm(EVERY)];

  exact(field: TextField, value: unknown): void {
    if (typeof value === 'string') this.#exact(field, value);
    else if (Array.isArray(value)) for (const item of value as readonly unknown[]) if (typeof item === 'string') this.#exact(field, item);
  }

  words(field: TextField, value: unknown): void {
    if (typeof value === 'string') this.#addAll(field.words(value));
    else if (Array.isArray(value))
      for (const item of value as readonly unknown[]) if (typeof item === 'string') this.#addAll(field.words(item));
  }

  /** The words of a name and of its longer form. The longer form is mostly the name and more words; then only these are split. */
  namesOf(field: TextField, name: unknown, longer: unknown): void {
    const hasName = typeof name === 'string';
    if (hasName) this.#addAll(field.wordsOfOne(name));
    if (typeof longer === 'string')
      this.#addAll(
        field.wordsOfOne(hasName && longer.startsWith(name) && longer[name.length] === ' ' ? longer.slice(name.length) : longer),
      );
  }

  /** The terms of all values of a text. */
  each(field: TextField, value: string, values: (text: string) => readonly string[]): void {
    this.#addAll(field.each(value, values));
  }

  number(field: NumberField, value: unknown, of = ''): void {
    if (typeof value !== 'number' || !Number.isFinite(value) || this.list.length >= MAX_TERMS) return;
    field.add(this.list, value, of);
    if (this.list.length > MAX_TERMS) this.list.length = MAX_TERMS;
  }

  flag(name: 'has_email' | 'has_mobile' | 'has_linkedin', set: boolean): void {
    if (set) this.#add(internTerm(name));
  }

  #exact(field: TextField, value: string): void {
    if (value !== '') this.#add(field.exact(value));
  }

  #addAll(terms: readonly number[]): void {
    for (const term of terms) this.#add(term);
  }

  #add(term: number): void {
    if (this.list.length < MAX_TERMS) this.list.push(term);
  }
}

const PERSON_TEXTS = fieldsOf('title', 'seniority', 'department', 'sub_department', 'email_status', 'skills', 'languages');
const PLACE_TEXTS = fieldsOf('region', 'city', 'postal_code');
const COMPANY_TEXTS = fieldsOf('industry', 'type', 'ticker', 'parent_domain', 'email_provider', 'keywords');
const CODES = fieldsOf('naics', 'sic');

/** Fields whose terms have the field's own name. */
function fieldsOf(...names: readonly TextName[]): readonly { readonly name: TextName; readonly field: TextField }[] {
  return names.map((name) => ({ name, field: TEXTS[name] }));
}

/** @param companyName the name of an employer without a record; null otherwise */
export function personTerms(person: SparseRecord, companyName: string | null, updatedMs: number): readonly number[] {
  const terms = new Terms();
  terms.words(TEXTS.name, person['name']);
  terms.words(TEXTS.name, person['name_aliases']);
  terms.exact(TEXTS.first_name, person['first_name']);
  terms.exact(TEXTS.last_name, person['last_name']);
  terms.words(TEXTS.title, person['title']);
  for (const { name, field } of PERSON_TEXTS) terms.exact(field, person[name]);
  for (const { school, degree } of objects(person['education'])) {
    terms.words(TEXTS.school, school);
    terms.exact(TEXTS.degree, degree);
  }
  const jobs = objects(person['employment_history']);
  for (const past of jobs) {
    if (isCurrent(past)) continue;
    terms.words(TEXTS.past_title, past['title']);
    terms.words(TEXTS.past_company, isObject(past['company']) ? past['company']['name'] : (past['company'] ?? past['company_name']));
  }
  const place = isObject(person['location']) ? person['location'] : {};
  terms.exact(TEXTS.country, place['country_code']);
  for (const { name, field } of PLACE_TEXTS) terms.exact(field, place[name]);
  if (typeof place['lat'] === 'number' && typeof place['lng'] === 'number') terms.exact(TEXTS.place, placeName(place['lat'], place['lng']));
  terms.flag('has_email', textOrNull(person['email']) !== null);
  terms.flag('has_mobile', textOrNull(person['mobile']) !== null);
  terms.flag('has_linkedin', textOrNull(person['linkedin_url']) !== null);
  terms.words(TEXTS.employer, companyName);
  terms.number(NUMBER_FIELDS.years_experience, person['years_experience']);
  const roleStarted = dayOf(person['role_started_on']);
  terms.number(NUMBER_FIELDS.role_started, roleStarted);
  terms.number(NUMBER_FIELDS.company_since, companySince(jobs) ?? roleStarted);
  terms.number(NUMBER_FIELDS.job_changed, dayOf(person['job_changed_at']));
  if (updatedMs > 0) terms.number(NUMBER_FIELDS.updated, Math.floor(updatedMs / DAY_MS));
  return terms.list;
}

/** The first day at the employer, by the employment history; null when that says nothing. */
function companySince(jobs: readonly SparseRecord[]): number | null {
  if (jobs.length === 0) return null;
  const starts = jobs
    .filter(isCurrent)
    .map(({ started_on: start }) => dayOf(start))
    .filter((day) => day !== null);
  return starts.length > 0 ? Math.min(...starts) : null;
}

export function companyTerms(company: SparseRecord, signals: SignalFacts): readonly number[] {
  const terms = new Terms();
  terms.namesOf(TEXTS.company, company['name'], company['legal_name']);
  for (const { name, field } of COMPANY_TEXTS) terms.exact(field, company[name]);
  for (const { name, field } of CODES) for (const code of strings(company[name])) terms.each(field, code, codesOf);
  const hq = isObject(company['hq']) ? company['hq'] : {};
  terms.exact(TEXTS.hq_country, hq['country_code']);
  terms.exact(TEXTS.hq_region, hq['region']);
  terms.exact(TEXTS.hq_city, hq['city']);
  terms.exact(TEXTS.technology, company['stack']);
  for (const { name, category } of objects(company['technologies'])) {
    terms.exact(TEXTS.technology, name);
    terms.exact(TEXTS.technology_category, category);
  }
  terms.number(NUMBER_FIELDS.employees, company['employees']);
  terms.number(NUMBER_FIELDS.revenue, company['revenue_usd']);
  terms.number(NUMBER_FIELDS.founded, company['founded_year']);
  const growth = isObject(company['headcount_growth']) ? company['headcount_growth']['m12'] : null;
  if (typeof growth === 'number') terms.number(NUMBER_FIELDS.growth_12m, growth * 1_000);
  for (const [department, size] of departmentSizes(company['employees_by_department']))
    terms.number(NUMBER_FIELDS.department_size, size, department);
  fundingTerms(terms, company['funding']);
  hiringTerms(terms, company['hiring'], signals.hiring);
  for (const [type, day] of Object.entries(signals.days)) terms.number(NUMBER_FIELDS.signal_day, day, type);
  return terms.list;
}

/** The prefixes of a code: `7371-0301` counts without its hyphen. */
function codesOf(code: string): readonly string[] {
  const [digits = ''] = /^\d+/.exec(code.replaceAll(/[\s.-]/g, '')) ?? [];
  const { least, most } = CODE_DIGITS;
  return Array.from({ length: Math.max(0, Math.min(digits.length, most) - least + 1) }, (_, more) => digits.slice(0, least + more));
}

const departments = memberNames('', alike);

const NO_SIZES: ReadonlyMap<string, number> = new Map();

/** By normalised name. Equal names keep the greatest size, since the slices of two numbers would mix to a third. */
function departmentSizes(sizes: unknown): ReadonlyMap<string, number> {
  if (!isObject(sizes)) return NO_SIZES;
  const greatest = new Map<string, number>();
  let at = departments;
  for (const department in sizes) {
    at = at.to(department);
    const size = sizes[department];
    if (typeof size !== 'number' || !Number.isFinite(size)) continue;
    const name = at.means;
    greatest.set(name, Math.max(size, greatest.get(name) ?? size));
  }
  return greatest;
}

function fundingTerms(terms: Terms, funding: unknown): void {
  if (!isObject(funding)) return;
  terms.exact(TEXTS.funding_stage, funding['last_stage']);
  terms.exact(TEXTS.investor, funding['investors']);
  terms.number(NUMBER_FIELDS.funding_total, funding['total_usd']);
  terms.number(NUMBER_FIELDS.last_funding, funding['last_amount_usd']);
  terms.number(NUMBER_FIELDS.last_funded, dayOf(funding['last_date']));
}

function hiringTerms(terms: Terms, hiring: unknown, signals: readonly SparseRecord[]): void {
  const known = isObject(hiring) ? hiring : {};
  terms.number(NUMBER_FIELDS.open_roles, known['open_roles']);
  terms.number(NUMBER_FIELDS.hiring_posted, dayOf(known['last_posted_on']));
  for (const [part, field] of [
    ['by_department', TEXTS.hiring_department],
    ['by_country', TEXTS.hiring_location],
  ] as const) {
    // A department with 0 open roles is not hiring.
    const roles = known[part];
    if (isObject(roles))
      terms.exact(
        field,
        Object.keys(roles).filter((name) => roles[name] !== 0),
      );
  }
  for (const { openings, titles, departments, locations } of signals) {
    if (openings === 0) continue;
    terms.words(TEXTS.hiring_title, titles);
    terms.exact(TEXTS.hiring_department, departments);
    terms.exact(TEXTS.hiring_location, locations);
  }
}

/** The term of a place, to about a kilometre. */
function placeName(lat: number, lng: number): string {
  return `${lat.toFixed(PLACE_DECIMALS)},${lng.toFixed(PLACE_DECIMALS)}`;
}

function isCurrent(job: SparseRecord): boolean {
  return job['is_current'] === true || ((job['is_current'] ?? null) === null && (job['ended_on'] ?? null) === null);
}

const NONE: readonly never[] = [];

function objects(value: unknown): readonly SparseRecord[] {
  return Array.isArray(value) ? (value as readonly unknown[]).filter(isObject) : NONE;
}

function strings(value: unknown): readonly string[] {
  return Array.isArray(value) ? (value as readonly unknown[]).filter((item) => typeof item === 'string') : NONE;
}
