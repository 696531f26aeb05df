/** The search filters of the definitions: what each takes, and what it means. */
import { normaliseDomain } from '../../verification/domain.ts';
import { COUNTRY_WANTED, filterCountry } from '../countries.ts';
import { alike, words } from '../fold.ts';
import { SIGNAL_NAMES, signalType, SIGNAL_TYPES } from '../signal-types.ts';
import type { Schema } from '../openapi/schema.ts';
import { BadValue, CIRCLE, circleOf, type Circle, CODE, codeOf, COUNTRY, DATE_VALUE, dateOf, DEPARTMENT_RANGE, FLAG, flagOf, RANGE_VALUE, rangeOf, TEXT } from './bad-value.ts';
import { all, any, not, range, term, type Expression } from './expression.ts';
import type { NumberName } from './numbers.ts';

/** What a filter needs to know of the store and the day. */
export interface FilterContext {
  /** Days since 1970. */
  readonly today: number;
  /** The number of the company that has this domain, or of the domain by itself; null: nobody has it. */
  domainNumber(domain: string): number | null;
  peopleWithProfile(url: string): readonly number[];
  /** The terms of the places that are within any of the circles, each once. */
  placesNear(circles: readonly Circle[]): readonly string[];
}

/** What a filter means of people, and of companies for whoever works there; whoever meets either is found. */
export interface Meaning {
  readonly person?: Expression;
  readonly company?: Expression;
}

/** A filter's meaning, and whether what meets it is left out. */
export interface Clause extends Meaning {
  readonly exclude: boolean;
}

export interface Filter {
  /** What one value looks like. */
  readonly takes: Schema;
  /** Rows that meet it are left out. */
  readonly exclude: boolean;
  /** In a query, commas divide its values. */
  readonly divided: boolean;
  /** Each value is one look-up by key, so there may be many. */
  readonly many?: true;
  /** It takes fewer values than all filters together. */
  readonly most?: number;
  /** It says how another is meant, and takes one value. */
  readonly single?: true;
  /** @throws BadValue for the first value that is none of its. `others` are the values of filters that change what it means. */
  compile(values: readonly string[], context: FilterContext, others: (name: string) => readonly string[]): Meaning | readonly Meaning[];
}

type Side = 'person' | 'company';
type One = (value: string, context: FilterContext) => Expression;

/** A month on the average, days. */
const MONTH = 30.4375;

const either = (side: Side, one: One, more: Partial<Filter> = {}): Filter => ({
  takes: TEXT,
  exclude: false,
  divided: true,
  compile: (values, context) => ({ [side]: any(values.map((value) => one(value, context))) }),
  ...more,
});
const exact = (side: Side, field: string, more?: Partial<Filter>): Filter => either(side, (value) => term(`${field}=${alike(value)}`), more);
const text = (side: Side, field: string, more?: Partial<Filter>): Filter => either(side, (value) => wordsOf(field, value), more);
const between = (side: Side, name: NumberName, scale = 1): Filter => either(side, (value) => {
  const { min, max } = rangeOf(value);
  return range(name, min === null ? null : min * scale, max === null ? null : max * scale);
}, { takes: RANGE_VALUE });
const since = (side: Side, name: NumberName): Filter => either(side, (value) => range(name, dateOf(value), null), { takes: DATE_VALUE });
const months = (name: NumberName): Filter => either('person', (value, { today }) => {
  const { min, max } = rangeOf(value);
  // Whole months: somebody is in their third month until the fourth is over.
  return range(name, max === null ? null : Math.floor(today - (max + 1) * MONTH) + 1, min === null ? null : today - min * MONTH);
}, { takes: RANGE_VALUE });
const flag = (name: string): Filter => either('person', (value) => (flagOf(value) ? term(name) : not(term(name))), { takes: FLAG });
const country = (side: Side, field: string, more?: Partial<Filter>): Filter => either(side, (value) => {
  const code = filterCountry(value);
  if (code === null) throw new BadValue('format', COUNTRY_WANTED);
  return term(`${field}=${code.toLowerCase()}`);
}, { takes: COUNTRY, ...more });
const code = (field: string): Filter => either('company', (value) => term(`${field}=${codeOf(value)}`), { takes: CODE });
const excluded = { exclude: true } as const;

/** Each looks at everybody. */
const MAX_Q_WORDS = 10;
/** Each is looked up; a title, a name or a school has fewer. */
const MAX_VALUE_WORDS = 20;
/** Each is compared with every place. */
const MAX_CIRCLES = 10;
const TITLE_MATCHES = ['all', 'any', 'exact'] as const;

/** Every filter by its name, in the order of the definitions. */
export const FILTERS: Readonly<Record<string, Filter>> = {
  q: { takes: TEXT, exclude: false, divided: false, compile: anywhere },
  name: text('person', 'name'),
  first_name: exact('person', 'first_name'),
  last_name: exact('person', 'last_name'),
  title: title({}),
  exclude_title: title(excluded),
  past_title: text('person', 'past_title'),
  skills: exact('person', 'skills'),
  languages: exact('person', 'languages'),
  school: text('person', 'school'),
  degree: exact('person', 'degree'),
  linkedin_url: either('person', (value, context) => ({ kind: 'rows', rows: context.peopleWithProfile(value) }), { many: true }),
  past_company: text('person', 'past_company'),
  title_match: modifier({ type: 'string', enum: TITLE_MATCHES }, titleMatch),
  seniority: exact('person', 'seniority'),
  department: exact('person', 'department'),
  sub_department: exact('person', 'sub_department'),
  email_status: exact('person', 'email_status'),
  country: country('person', 'country'),
  exclude_country: country('person', 'country', excluded),
  region: exact('person', 'region'),
  city: exact('person', 'city'),
  postal_code: exact('person', 'postal_code'),
  near: {
    takes: CIRCLE,
    exclude: false,
    divided: false,
    most: MAX_CIRCLES,
    compile: (values, context) => ({ person: any(context.placesNear(values.map(circleOf)).map(term)) }),
  },
  years_experience: between('person', 'years_experience'),
  months_in_role: months('role_started'),
  months_at_company: months('company_since'),
  job_changed_since: since('person', 'job_changed'),
  updated_since: since('person', 'updated'),
  has_email: flag('has_email'),
  has_mobile: flag('has_mobile'),
  has_linkedin: flag('has_linkedin'),
  company: { takes: TEXT, exclude: false, divided: true, compile: (values) => ({ person: any(values.map((value) => wordsOf('employer', value))), company: any(values.map((value) => wordsOf('company', value))) }) },
  domain: either('company', domain, { many: true }),
  exclude_domain: either('company', domain, { ...excluded, many: true }),
  company_country: country('company', 'hq_country'),
  company_region: exact('company', 'hq_region'),
  company_city: exact('company', 'hq_city'),
  headcount: between('company', 'employees'),
  headcount_growth_12m: between('company', 'growth_12m', 10),
  department_headcount: either('company', departmentHeadcount, { takes: DEPARTMENT_RANGE }),
  revenue: between('company', 'revenue'),
  industry: exact('company', 'industry'),
  exclude_industry: exact('company', 'industry', excluded),
  naics: code('naics'),
  sic: code('sic'),
  keywords: exact('company', 'keywords'),
  exclude_keywords: exact('company', 'keywords', excluded),
  company_type: exact('company', 'type'),
  founded: between('company', 'founded'),
  ticker: exact('company', 'ticker'),
  parent_domain: either('company', (value) => term(`parent_domain=${goodDomain(value)}`)),
  email_provider: exact('company', 'email_provider'),
  technologies: { takes: TEXT, exclude: false, divided: true, compile: (values) => ({ company: all(values.map((value) => term(`technology=${alike(value)}`))) }) },
  technologies_any: exact('company', 'technology'),
  exclude_technologies: exact('company', 'technology', excluded),
  technology_category: exact('company', 'technology_category'),
  funding_stage: exact('company', 'funding_stage'),
  funding_total: between('company', 'funding_total'),
  last_funding_amount: between('company', 'last_funding'),
  last_funded_since: since('company', 'last_funded'),
  investors: exact('company', 'investor'),
  hiring_title: text('company', 'hiring_title'),
  hiring_department: exact('company', 'hiring_department'),
  hiring_location: exact('company', 'hiring_location'),
  open_roles: between('company', 'open_roles'),
  hiring_since: either('company', (value) => any([range('hiring_posted', dateOf(value), null), range('signal_day', dateOf(value), null, 'hiring')]), { takes: DATE_VALUE }),
  signal: { takes: { type: 'string', enum: SIGNAL_NAMES }, exclude: false, divided: true, compile: (values, _context, others) => ({ company: signals(values.map(signalOf), others('signal_since')) }) },
  signal_since: {
    takes: DATE_VALUE,
    exclude: false,
    divided: false,
    single: true,
    compile(values, _context, others) {
      values.forEach(dateOf);
      return others('signal').length > 0 ? {} : { company: signals(SIGNAL_TYPES, values) };
    },
  },
};

/** `all` its words wherever they stand, `any` of its words, or the `exact` title. @throws BadValue */
function titleMatch(value: string): (typeof TITLE_MATCHES)[number] {
  const found = TITLE_MATCHES.find((match) => match === value);
  if (found === undefined) throw new BadValue('enum', `must be one of ${TITLE_MATCHES.join(', ')}`);
  return found;
}

function title(more: Partial<Filter>): Filter {
  return {
    takes: TEXT,
    exclude: false,
    divided: true,
    compile(values, _context, others) {
      const [given] = others('title_match');
      const match = given === undefined ? 'all' : titleMatch(given);
      const one = (value: string): Expression =>
        match === 'exact' ? term(`title=${alike(value)}`) : match === 'any' ? any(fewWords(value).map((each) => term(`title~${each}`))) : wordsOf('title', value);
      return { person: any(values.map(one)) };
    },
    ...more,
  };
}

/** A filter that says how another is meant. */
function modifier(takes: Schema, check: (value: string) => unknown): Filter {
  return {
    takes,
    exclude: false,
    divided: false,
    single: true,
    compile(values) {
      values.forEach(check);
      return {};
    },
  };
}

/** Each word wherever one would look for it. */
function anywhere(values: readonly string[]): Meaning[] {
  const found = values.flatMap((value) => wordList(value));
  if (found.length > MAX_Q_WORDS) throw new BadValue('too_many', `has more than ${MAX_Q_WORDS} words`);
  return found.map((each) => ({
    person: any(['name', 'title', 'employer', 'school'].map((field) => term(`${field}~${each}`)).concat(term(`skills=${each}`))),
    company: term(`company~${each}`),
  }));
}

function domain(value: string, context: FilterContext): Expression {
  const number = context.domainNumber(goodDomain(value));
  return { kind: 'rows', rows: number === null ? [] : [number] };
}

function goodDomain(value: string): string {
  const found = normaliseDomain(value);
  if (found === null) throw new BadValue('format', 'is no domain name, such as acme.example');
  return found;
}

function departmentHeadcount(value: string): Expression {
  const colon = value.lastIndexOf(':');
  if (colon < 1) throw new BadValue('format', 'is no department and range, such as engineering:10-50');
  const { min, max } = rangeOf(value.slice(colon + 1));
  return range('department_size', min, max, alike(value.slice(0, colon)));
}

function signalOf(value: string): string {
  const type = signalType(value.toLowerCase());
  if (type === null) throw new BadValue('enum', `must be one of ${SIGNAL_NAMES.join(', ')}`);
  return type;
}

function signals(types: readonly string[], from: readonly string[]): Expression {
  const [first] = from;
  return any(types.map((type) => range('signal_day', first === undefined ? null : dateOf(first), null, type)));
}

/** All the words of a value, wherever they stand in the field. @throws BadValue when it has none or too many */
function wordsOf(field: string, value: string): Expression {
  return all(fewWords(value).map((each) => term(`${field}~${each}`)));
}

function fewWords(value: string): readonly string[] {
  const found = [...new Set(wordList(value))];
  if (found.length > MAX_VALUE_WORDS) throw new BadValue('too_many', `has a value of more than ${MAX_VALUE_WORDS} words`);
  return found;
}

function wordList(value: string): readonly string[] {
  const found = words(value);
  if (found.length === 0) throw new BadValue('format', 'has no word in it');
  return found;
}
