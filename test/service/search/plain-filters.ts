/** A search without an index: it applies each filter to each person. Tests compare the index with it. */
import type { SparseRecord } from '../../../src/service/records/whole-record.ts';

export interface Employee {
  readonly person: SparseRecord;
  /** The company that is shown for the person. */
  readonly company: SparseRecord;
  /** True for each domain of the employer. */
  readonly worksAt: (domain: string) => boolean;
  readonly signals: readonly SparseRecord[];
  /** The current day; `TODAY` when left out. */
  readonly today?: string;
}

type Meets = (value: string, one: Employee) => boolean;

export const TODAY = '2026-06-15';

/** The benches look at millions. */
const MAX_SEEN = 500_000;
const seen = new Map<string, string>();
const plain = (text: unknown): string => {
  if (typeof text !== 'string') return '';
  const known = seen.get(text) ?? plainly(text);
  if (seen.size >= MAX_SEEN) seen.clear();
  seen.set(text, known);
  return known;
};
const plainly = (text: string): string =>
  text
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll('ß', 'ss')
    .replaceAll(/[øØ]/g, 'o')
    .replaceAll(/[łŁ]/g, 'l')
    .toLowerCase()
    .trim();
const unsigned = (text: unknown): string =>
  plain(text)
    .split(/[\s_-]+/)
    .filter((part) => part !== '')
    .join('_');
const wordsOf = (text: unknown): string[] =>
  plain(text)
    .split(/[^\p{L}\p{N}+#.]+/u)
    .filter((word) => /[\p{L}\p{N}]/u.test(word));
const list = (value: unknown): unknown[] =>
  Array.isArray(value) ? (value as unknown[]) : value === undefined || value === null ? [] : [value];
const at = (record: SparseRecord, ...path: string[]): unknown =>
  path.reduce<unknown>((value, part) => (typeof value === 'object' && value !== null ? (value as SparseRecord)[part] : undefined), record);
const is = (value: string, found: unknown): boolean => list(found).some((one) => unsigned(one) === unsigned(value) && plain(one) !== '');
const hasWords = (value: string, found: unknown): boolean => {
  const known = new Set(list(found).flatMap(wordsOf));
  return wordsOf(value).every((word) => known.has(word));
};
const within = (value: string, found: unknown): boolean => {
  const [, low, high] = /^(-?[\d.]+)?-(-?[\d.]+)?$/.exec(value) ?? [];
  return typeof found === 'number' && (low === undefined || found >= Number(low)) && (high === undefined || found <= Number(high));
};
const notBefore = (value: string, found: unknown): boolean => typeof found === 'string' && found.slice(0, 10) >= value;
const flag = (value: string, found: unknown): boolean => (value === 'true') === (typeof found === 'string');
/** Whole months by the calendar: counted one by one, each ending on the same day of the month or on its last day. */
const months = (since: unknown, today = TODAY): number | null => {
  if (typeof since !== 'string') return null;
  const [year = 0, month = 0, day = 0] = since.slice(0, 10).split('-').map(Number);
  const after = (count: number): string => {
    const last = new Date(Date.UTC(year, month + count, 0)).getUTCDate();
    return new Date(Date.UTC(year, month - 1 + count, Math.min(day, last))).toISOString().slice(0, 10);
  };
  let count = 0;
  while (after(count + 1) <= today) count++;
  return after(0) <= today ? count : -1;
};
const past = ({ person }: Employee): SparseRecord[] =>
  (list(person['employment_history']) as SparseRecord[]).filter((job) => job['ended_on'] !== undefined);

export const MEETS: Readonly<Record<string, Meets>> = {
  q: (value, { person, company }) =>
    wordsOf(value).every(
      (word) =>
        [
          person['name'],
          person['name_aliases'],
          person['title'],
          (list(person['education']) as SparseRecord[]).map(({ school }) => school),
          company['name'],
          company['legal_name'],
        ].some((field) => hasWords(word, field)) || is(word, person['skills']),
    ),
  name: (value, { person }) => hasWords(value, [person['name'], ...list(person['name_aliases'])]),
  first_name: (value, { person }) => is(value, person['first_name']),
  last_name: (value, { person }) => is(value, person['last_name']),
  title: (value, { person }) => hasWords(value, person['title']),
  exclude_title: (value, { person }) => hasWords(value, person['title']),
  past_title: (value, one) =>
    hasWords(
      value,
      past(one).map(({ title }) => title),
    ),
  past_company: (value, one) =>
    hasWords(
      value,
      past(one).map(({ company }) => company),
    ),
  skills: (value, { person }) => is(value, person['skills']),
  languages: (value, { person }) => is(value, person['languages']),
  school: (value, { person }) =>
    hasWords(
      value,
      (list(person['education']) as SparseRecord[]).map(({ school }) => school),
    ),
  degree: (value, { person }) =>
    is(
      value,
      (list(person['education']) as SparseRecord[]).map(({ degree }) => degree),
    ),
  linkedin_url: (value, { person }) => value === person['linkedin_url'],
  seniority: (value, { person }) => is(value, person['seniority']),
  department: (value, { person }) => is(value, person['department']),
  sub_department: (value, { person }) => is(value, person['sub_department']),
  email_status: (value, { person }) => is(value, person['email_status']),
  country: (value, { person }) => is(value, at(person, 'location', 'country_code')),
  exclude_country: (value, { person }) => is(value, at(person, 'location', 'country_code')),
  region: (value, { person }) => is(value, at(person, 'location', 'region')),
  city: (value, { person }) => is(value, at(person, 'location', 'city')),
  postal_code: (value, { person }) => is(value, at(person, 'location', 'postal_code')),
  near: (value, { person }) => {
    const [lat, lng, km] = value.split(',').map(Number) as [number, number, number];
    const [toLat, toLng] = [at(person, 'location', 'lat'), at(person, 'location', 'lng')];
    if (typeof toLat !== 'number' || typeof toLng !== 'number') return false;
    const cosine =
      Math.sin((lat * Math.PI) / 180) * Math.sin((toLat * Math.PI) / 180) +
      Math.cos((lat * Math.PI) / 180) * Math.cos((toLat * Math.PI) / 180) * Math.cos(((toLng - lng) * Math.PI) / 180);
    return 6_371 * Math.acos(Math.min(1, cosine)) <= km;
  },
  years_experience: (value, { person }) => within(value, person['years_experience']),
  months_in_role: (value, { person, today }) => within(value, months(person['role_started_on'], today)),
  months_at_company: (value, { person, today }) =>
    within(
      value,
      months(
        (list(person['employment_history']) as SparseRecord[]).find((job) => job['ended_on'] === undefined)?.['started_on'] ??
          person['role_started_on'],
        today,
      ),
    ),
  job_changed_since: (value, { person }) => notBefore(value, person['job_changed_at']),
  updated_since: (value, { person }) => notBefore(value, person['updated_at']),
  has_email: (value, { person }) => flag(value, person['email']),
  has_mobile: (value, { person }) => flag(value, person['mobile']),
  has_linkedin: (value, { person }) => flag(value, person['linkedin_url']),
  company: (value, { company }) => hasWords(value, [company['name'], company['legal_name']]),
  domain: (value, { worksAt }) => worksAt(value),
  exclude_domain: (value, { worksAt }) => worksAt(value),
  company_country: (value, { company }) => is(value, at(company, 'hq', 'country_code')),
  company_region: (value, { company }) => is(value, at(company, 'hq', 'region')),
  company_city: (value, { company }) => is(value, at(company, 'hq', 'city')),
  headcount: (value, { company }) => within(value, company['employees']),
  headcount_growth_12m: (value, { company }) =>
    within(
      value,
      typeof at(company, 'headcount_growth', 'm12') === 'number'
        ? Math.round((at(company, 'headcount_growth', 'm12') as number) * 1_000) / 10
        : undefined,
    ),
  department_headcount: (value, { company }) =>
    within(value.split(':')[1] ?? '', at(company, 'employees_by_department', value.split(':')[0] ?? '')),
  revenue: (value, { company }) => within(value, company['revenue_usd']),
  industry: (value, { company }) => is(value, company['industry']),
  exclude_industry: (value, { company }) => is(value, company['industry']),
  naics: (value, { company }) => list(company['naics']).some((code) => String(code).startsWith(value)),
  sic: (value, { company }) => list(company['sic']).some((code) => String(code).startsWith(value)),
  keywords: (value, { company }) => is(value, company['keywords']),
  exclude_keywords: (value, { company }) => is(value, company['keywords']),
  company_type: (value, { company }) => is(value, company['type']),
  founded: (value, { company }) => within(value, company['founded_year']),
  ticker: (value, { company }) => is(value, company['ticker']),
  parent_domain: (value, { company }) => value === company['parent_domain'],
  email_provider: (value, { company }) => is(value, company['email_provider']),
  technologies: (value, { company }) => is(value, company['stack']),
  technologies_any: (value, { company }) => is(value, company['stack']),
  exclude_technologies: (value, { company }) => is(value, company['stack']),
  technology_category: (value, { company }) =>
    is(
      value,
      (list(company['technologies']) as SparseRecord[]).map(({ category }) => category),
    ),
  funding_stage: (value, { company }) => is(value, at(company, 'funding', 'last_stage')),
  funding_total: (value, { company }) => within(value, at(company, 'funding', 'total_usd')),
  last_funding_amount: (value, { company }) => within(value, at(company, 'funding', 'last_amount_usd')),
  last_funded_since: (value, { company }) => notBefore(value, at(company, 'funding', 'last_date')),
  investors: (value, { company }) => is(value, at(company, 'funding', 'investors')),
  hiring_title: (value, { signals }) => hasWords(value, hiring(signals, 'titles')),
  hiring_department: (value, { signals }) => is(value, hiring(signals, 'departments')),
  hiring_location: (value, { signals }) => is(value, hiring(signals, 'locations')),
  open_roles: (value, { company }) => within(value, at(company, 'hiring', 'open_roles')),
  hiring_since: (value, { company, signals }) =>
    notBefore(value, at(company, 'hiring', 'last_posted_on')) ||
    signals.some((signal) => signal['type'] === 'hiring' && notBefore(value, signal['occurred_at'])),
  signal: (value, { signals }) => signals.some(({ type }) => type === value),
  signal_since: (value, { signals }) => signals.some((signal) => notBefore(value, signal['occurred_at'])),
};

function hiring(signals: readonly SparseRecord[], part: string): unknown[] {
  return signals.filter(({ type }) => type === 'hiring').flatMap((signal) => list(at(signal, 'data', part)));
}

/**
 * True when a person matches every filter: one of its values, or all where the definitions say so, or none for a filter that
 * excludes.
 */
export function meetsAll(filters: Readonly<Record<string, readonly string[]>>, one: Employee): boolean {
  return Object.entries(filters).every(([name, values]) => {
    const meets = (value: string): boolean => (MEETS[name] as Meets)(value, one);
    if (name.startsWith('exclude_')) return !values.some(meets);
    return name === 'technologies' ? values.every(meets) : values.some(meets);
  });
}
