/** Records of the sample set with aliases, tickers and histories, and for each filter random values that occur in them. */
import * as fc from '../../support/fast-check.ts';
import { makeSample } from '../../../fixtures/generate/sample.ts';
import type { SparseRecord } from '../../../src/service/records/whole-record.ts';
import { PlainCompanies } from './plain-companies.ts';
import type { Employee } from './plain-filters.ts';

export const SIZE = 300;

const sample = makeSample();
/** Aliases: of one company, claimed by two companies, and one that is the domain of a third company. */
const aliasesOf = (n: number): string[] =>
  n < 100
    ? [
        `alias-${n}.example`,
        ...(n % 2 === 0 ? [`claimed-${n >> 2}.example`] : []),
        ...(n % 5 === 0 ? [String(sample.companies[n + 1]?.domain)] : []),
      ]
    : [];
export const companies: SparseRecord[] = sample.companies.map(({ record }, n) => ({
  ...record,
  ...(n < 100 ? { domain_aliases: aliasesOf(n) } : {}),
  ...(n % 9 === 0 ? { ticker: `T${n}`, parent_domain: sample.companies[n % 50]?.domain } : {}),
  ...(n % 2 === 0 ? fundedAs(record) : {}),
}));
/** Sources write a funding stage in several ways. */
function fundedAs({ funding }: SparseRecord): SparseRecord {
  const { last_stage: stage } = (funding ?? {}) as SparseRecord;
  return typeof stage === 'string' ? { funding: { ...(funding as SparseRecord), last_stage: stage.replace('series_', 'Series ') } } : {};
}
export const people: SparseRecord[] = sample.people.slice(0, SIZE).map(({ record, company }, n) => ({
  ...record,
  ...(n % 3 === 0
    ? {
        employment_history: [
          { title: 'Intern', company: sample.companies[n % 7]?.name, started_on: '2010-01-01', ended_on: '2012-01-01' },
          { title: record['title'], company: company.name, started_on: `20${10 + (n % 15)}-03-01` },
        ],
      }
    : {}),
  ...(n % 4 === 0 ? { location: { ...(record['location'] as object), postal_code: `10${n % 50}` } } : {}),
  ...(n % 11 === 0 ? { email: undefined } : {}),
  ...(n % 2 === 0 ? { company_domain: aliasesOf(sample.companies.indexOf(company))[n % 3] ?? company.domain } : {}),
}));
export const signals: SparseRecord[] = sample.companies.slice(0, 150).map(({ domain }, n) => ({
  id: `sg_${n}`,
  type: (['funding', 'hiring', 'executive_move', 'technology_change'] as const)[n % 4],
  company: { domain: n % 5 === 2 ? (aliasesOf(n)[0] ?? domain) : domain },
  occurred_at: `2026-0${1 + (n % 6)}-1${n % 9}`,
  data:
    n % 4 === 1
      ? { titles: ['Data Engineer', 'QA Lead'].slice(n % 2), departments: ['engineering', 'sales'].slice(n % 2), locations: ['Berlin'] }
      : {},
}));

const shown = new PlainCompanies();
for (const company of companies) shown.add(company['domain'], company['domain_aliases'], company);
export const employees: readonly Employee[] = people.map((person) => ({
  person,
  company: shown.shownFor(person['company_domain']) ?? {},
  worksAt: (domain) => shown.domainOf(domain) === shown.domainOf(person['company_domain']),
  signals: signals.filter(
    ({ company }) => shown.domainOf((company as SparseRecord)['domain']) === shown.domainOf(person['company_domain']),
  ),
}));

export const pick = <T>(list: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...list);
const drawn = (values: readonly unknown[]): fc.Arbitrary<string> =>
  pick([...new Set(values.flat().filter((value) => typeof value === 'string' && value !== ''))] as string[]);
const ofPeople = (read: (person: SparseRecord) => unknown): fc.Arbitrary<string> => drawn(people.map(read));
const ofCompanies = (read: (company: SparseRecord) => unknown): fc.Arbitrary<string> =>
  drawn(employees.map(({ company }) => company).map(read));
const place = (part: string): fc.Arbitrary<string> => ofPeople((person) => (person['location'] as SparseRecord)[part]);
const seat = (part: string): fc.Arbitrary<string> => ofCompanies((company) => (company['hq'] as SparseRecord | undefined)?.[part]);
const range = (min: number, max: number): fc.Arbitrary<string> =>
  fc
    .tuple(fc.integer({ min, max }), fc.integer({ min, max }), fc.nat(3))
    .map(([a, b, open]) => (open === 0 ? `${Math.min(a, b)}-` : open === 1 ? `-${Math.abs(b)}` : `${Math.min(a, b)}-${Math.max(a, b)}`));
export const day = fc
  .tuple(fc.integer({ min: 2017, max: 2026 }), fc.integer({ min: 1, max: 12 }))
  .map(([year, month]) => `${year}-${String(month).padStart(2, '0')}-15`);
const flag = fc.constantFrom('true', 'false');
const words = (texts: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.tuple(texts, fc.nat(3)).map(
    ([text, from]) =>
      text
        .split(/[^\p{L}\p{N}]+/u)
        .filter(Boolean)
        .slice(from % 2)
        .join(' ') || 'nothing',
  );

export const DRAW: Readonly<Record<string, fc.Arbitrary<string>>> = {
  q: words(
    fc.oneof(
      ofPeople((p) => p['name']),
      ofPeople((p) => p['title']),
      ofCompanies((c) => c['name']),
    ),
  ),
  name: words(ofPeople((p) => p['name'])),
  first_name: ofPeople((p) => p['first_name']),
  last_name: ofPeople((p) => p['last_name']),
  title: words(ofPeople((p) => p['title'])),
  exclude_title: words(ofPeople((p) => p['title'])),
  past_title: pick(['intern', 'Software']),
  past_company: words(drawn(companies.slice(0, 7).map(({ name }) => name))),
  skills: ofPeople((p) => p['skills']),
  languages: ofPeople((p) => p['languages']),
  school: pick(['Example University', 'university', 'Nowhere']),
  degree: pick(['BSc', 'mba', 'PhD']),
  linkedin_url: ofPeople((p) => p['linkedin_url']),
  seniority: ofPeople((p) => p['seniority']),
  department: ofPeople((p) => p['department']),
  sub_department: ofPeople((p) => p['sub_department']),
  email_status: ofPeople((p) => p['email_status']),
  country: place('country_code'),
  exclude_country: place('country_code'),
  region: place('region'),
  city: place('city'),
  postal_code: place('postal_code'),
  near: fc
    .tuple(pick(people), fc.integer({ min: 1, max: 2_000 }))
    .map(([{ location }, km]) => `${String((location as SparseRecord)['lat'])},${String((location as SparseRecord)['lng'])},${km}`),
  years_experience: range(0, 25),
  months_in_role: range(0, 120),
  months_at_company: range(0, 200),
  job_changed_since: day,
  updated_since: day,
  has_email: flag,
  has_mobile: flag,
  has_linkedin: flag,
  company: words(ofCompanies((c) => c['name'])),
  domain: fc.oneof(
    ofCompanies((c) => c['domain']),
    ofPeople((p) => p['company_domain']),
  ),
  exclude_domain: ofPeople((p) => p['company_domain']),
  company_country: seat('country_code'),
  company_region: seat('region'),
  company_city: seat('city'),
  headcount: range(1, 5_000),
  headcount_growth_12m: range(-15, 30),
  department_headcount: fc.tuple(pick(['engineering', 'sales', 'none']), range(0, 300)).map((parts) => parts.join(':')),
  revenue: range(0, 400_000_000),
  industry: ofCompanies((c) => c['industry']),
  exclude_industry: ofCompanies((c) => c['industry']),
  naics: fc
    .tuple(
      ofCompanies((c) => c['naics']),
      fc.integer({ min: 2, max: 6 }),
    )
    .map(([code, length]) => code.slice(0, length)),
  sic: ofCompanies((c) => c['sic']),
  keywords: ofCompanies((c) => c['keywords']),
  exclude_keywords: ofCompanies((c) => c['keywords']),
  company_type: pick(['public', 'private']),
  founded: range(1950, 2022),
  ticker: ofCompanies((c) => c['ticker']),
  parent_domain: ofCompanies((c) => c['parent_domain']),
  email_provider: ofCompanies((c) => c['email_provider']),
  technologies: ofCompanies((c) => c['stack']),
  technologies_any: ofCompanies((c) => c['stack']),
  exclude_technologies: ofCompanies((c) => c['stack']),
  technology_category: pick(['cloud', 'database', 'crm']),
  funding_stage: pick(['seed', 'series_a', 'series_c']),
  funding_total: range(0, 100_000_000),
  last_funding_amount: range(0, 50_000_000),
  last_funded_since: day,
  investors: pick(['Example Ventures', 'Fixture Fund']),
  hiring_title: pick(['data engineer', 'lead']),
  hiring_department: pick(['engineering', 'sales']),
  hiring_location: pick(['Berlin', 'Rome']),
  open_roles: range(0, 40),
  hiring_since: day,
  signal: pick(['funding', 'hiring', 'executive_move']),
  signal_since: day,
};
