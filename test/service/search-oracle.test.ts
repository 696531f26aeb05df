import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeSample } from '../../fixtures/generate/sample.ts';
import type { SparseRecord } from '../../src/service/records.ts';
import { FILTERS, type Clause } from '../../src/service/search/filters.ts';
import { SearchIndex } from '../../src/service/search/search-index.ts';
import type { Sort } from '../../src/service/search/sort-keys.ts';
import { loadCompanies, loadPeople, loadSignals } from '../../src/service/store/load.ts';
import { openStore } from '../../src/service/store/open-store.ts';
import { suppress } from '../../src/service/store/suppress.ts';
import type { Store } from '../../src/service/store/store.ts';
import { casesOf } from '../support/sample.ts';
import { PlainCompanies } from './plain-companies.ts';
import { MEETS, meetsAll, TODAY, type Employee } from './plain-scan.ts';

const SIZE = 300;

const sample = makeSample();
/** Other domains: of one company, of two that claim it, and one that a third one has itself. */
const aliasesOf = (n: number): string[] => (n < 100 ? [`alias-${n}.example`, ...(n % 2 === 0 ? [`claimed-${n >> 2}.example`] : []), ...(n % 5 === 0 ? [String(sample.companies[n + 1]?.domain)] : [])] : []);
const companies: SparseRecord[] = sample.companies.map(({ record }, n) => ({ ...record, ...(n < 100 ? { domain_aliases: aliasesOf(n) } : {}), ...(n % 9 === 0 ? { ticker: `T${n}`, parent_domain: sample.companies[n % 50]?.domain } : {}), ...(n % 2 === 0 ? fundedAs(record) : {}) }));
/** Sources write one stage in several ways. */
function fundedAs({ funding }: SparseRecord): SparseRecord {
  const { last_stage: stage } = (funding ?? {}) as SparseRecord;
  return typeof stage === 'string' ? { funding: { ...(funding as SparseRecord), last_stage: stage.replace('series_', 'Series ') } } : {};
}
const people: SparseRecord[] = sample.people.slice(0, SIZE).map(({ record, company }, n) => ({
  ...record,
  ...(n % 3 === 0 ? { employment_history: [{ title: 'Intern', company: sample.companies[n % 7]?.name, started_on: '2010-01-01', ended_on: '2012-01-01' }, { title: record['title'], company: company.name, started_on: `20${10 + (n % 15)}-03-01` }] } : {}),
  ...(n % 4 === 0 ? { location: { ...(record['location'] as object), postal_code: `10${n % 50}` } } : {}),
  ...(n % 11 === 0 ? { email: undefined } : {}),
  ...(n % 2 === 0 ? { company_domain: aliasesOf(sample.companies.indexOf(company))[n % 3] ?? company.domain } : {}),
}));
const signals: SparseRecord[] = sample.companies.slice(0, 150).map(({ domain }, n) => ({
  id: `sg_${n}`, type: (['funding', 'hiring', 'executive_move', 'technology_change'] as const)[n % 4], company: { domain: n % 5 === 2 ? (aliasesOf(n)[0] ?? domain) : domain }, occurred_at: `2026-0${1 + (n % 6)}-1${n % 9}`,
  data: n % 4 === 1 ? { titles: ['Data Engineer', 'QA Lead'].slice(n % 2), departments: ['engineering', 'sales'].slice(n % 2), locations: ['Berlin'] } : {},
}));

const shown = new PlainCompanies();
for (const company of companies) shown.add(company['domain'], company['domain_aliases'], company);
const employees: readonly Employee[] = people.map((person) => ({
  person,
  company: shown.shownFor(person['company_domain']) ?? {},
  worksAt: (domain) => shown.domainOf(domain) === shown.domainOf(person['company_domain']),
  signals: signals.filter(({ company }) => shown.domainOf((company as SparseRecord)['domain']) === shown.domainOf(person['company_domain'])),
}));

let store: Store;
let search: SearchIndex;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-search-'));
  store = openStore(join(folder, 'store.sqlite'));
  // In another order than a store is usually filled: what is known of a company comes after who works there.
  loadPeople(store, people, 'test');
  loadSignals(store, signals, 'test');
  loadCompanies(store, companies, 'test');
  search = new SearchIndex(store, () => Date.parse(TODAY));
});
afterAll(async () => {
  store.close();
  await rm(folder, { recursive: true });
});

function clausesOf(filters: Readonly<Record<string, readonly string[]>>): Clause[] {
  return Object.entries(filters).flatMap(([name, values]) => {
    const filter = FILTERS[name];
    if (filter === undefined) throw new Error(name);
    return [filter.compile(values, search.context, (other) => filters[other] ?? [])].flat().map((meaning) => ({ ...meaning, exclude: filter.exclude }));
  });
}

function findAll(filters: Readonly<Record<string, readonly string[]>>, sort: Sort = 'name', descending = false, limit = SIZE): { ids: string[]; total: number } {
  const ids: string[] = [];
  for (let after = null as { key: string | number; id: string } | null; ; ) {
    const { rows, next, total } = search.find({ clauses: clausesOf(filters), sort, descending, after, limit });
    ids.push(...rows.map(({ row: { doc } }) => (JSON.parse(doc as string) as { id: string }).id));
    if (next === null) return { ids, total };
    after = next;
  }
}

const pick = <T>(list: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...list);
const drawn = (values: readonly unknown[]): fc.Arbitrary<string> => pick([...new Set(values.flat().filter((value) => typeof value === 'string' && value !== ''))] as string[]);
const ofPeople = (read: (person: SparseRecord) => unknown): fc.Arbitrary<string> => drawn(people.map(read));
const ofCompanies = (read: (company: SparseRecord) => unknown): fc.Arbitrary<string> => drawn(employees.map(({ company }) => company).map(read));
const place = (part: string): fc.Arbitrary<string> => ofPeople((person) => (person['location'] as SparseRecord)[part]);
const seat = (part: string): fc.Arbitrary<string> => ofCompanies((company) => (company['hq'] as SparseRecord | undefined)?.[part]);
const range = (min: number, max: number): fc.Arbitrary<string> => fc.tuple(fc.integer({ min, max }), fc.integer({ min, max }), fc.nat(3)).map(([a, b, open]) => (open === 0 ? `${Math.min(a, b)}-` : open === 1 ? `-${Math.abs(b)}` : `${Math.min(a, b)}-${Math.max(a, b)}`));
const day = fc.tuple(fc.integer({ min: 2017, max: 2026 }), fc.integer({ min: 1, max: 12 })).map(([year, month]) => `${year}-${String(month).padStart(2, '0')}-15`);
const flag = fc.constantFrom('true', 'false');
const words = (texts: fc.Arbitrary<string>): fc.Arbitrary<string> => fc.tuple(texts, fc.nat(3)).map(([text, from]) => text.split(/[^\p{L}\p{N}]+/u).filter(Boolean).slice(from % 2).join(' ') || 'nothing');

const DRAW: Readonly<Record<string, fc.Arbitrary<string>>> = {
  q: words(fc.oneof(ofPeople((p) => p['name']), ofPeople((p) => p['title']), ofCompanies((c) => c['name']))),
  name: words(ofPeople((p) => p['name'])), first_name: ofPeople((p) => p['first_name']), last_name: ofPeople((p) => p['last_name']),
  title: words(ofPeople((p) => p['title'])), exclude_title: words(ofPeople((p) => p['title'])), past_title: pick(['intern', 'Software']), past_company: words(drawn(companies.slice(0, 7).map(({ name }) => name))),
  skills: ofPeople((p) => p['skills']), languages: ofPeople((p) => p['languages']), school: pick(['Example University', 'university', 'Nowhere']), degree: pick(['BSc', 'mba', 'PhD']),
  linkedin_url: ofPeople((p) => p['linkedin_url']), seniority: ofPeople((p) => p['seniority']), department: ofPeople((p) => p['department']), sub_department: ofPeople((p) => p['sub_department']),
  email_status: ofPeople((p) => p['email_status']), country: place('country_code'), exclude_country: place('country_code'), region: place('region'), city: place('city'), postal_code: place('postal_code'),
  near: fc.tuple(pick(people), fc.integer({ min: 1, max: 2_000 })).map(([{ location }, km]) => `${String((location as SparseRecord)['lat'])},${String((location as SparseRecord)['lng'])},${km}`),
  years_experience: range(0, 25), months_in_role: range(0, 120), months_at_company: range(0, 200), job_changed_since: day, updated_since: day, has_email: flag, has_mobile: flag, has_linkedin: flag,
  company: words(ofCompanies((c) => c['name'])), domain: fc.oneof(ofCompanies((c) => c['domain']), ofPeople((p) => p['company_domain'])), exclude_domain: ofPeople((p) => p['company_domain']), company_country: seat('country_code'), company_region: seat('region'),
  company_city: seat('city'), headcount: range(1, 5_000), headcount_growth_12m: range(-15, 30), department_headcount: fc.tuple(pick(['engineering', 'sales', 'none']), range(0, 300)).map((parts) => parts.join(':')),
  revenue: range(0, 400_000_000), industry: ofCompanies((c) => c['industry']), exclude_industry: ofCompanies((c) => c['industry']), naics: fc.tuple(ofCompanies((c) => c['naics']), fc.integer({ min: 2, max: 6 })).map(([code, length]) => code.slice(0, length)),
  sic: ofCompanies((c) => c['sic']), keywords: ofCompanies((c) => c['keywords']), exclude_keywords: ofCompanies((c) => c['keywords']), company_type: pick(['public', 'private']), founded: range(1950, 2022), ticker: ofCompanies((c) => c['ticker']),
  parent_domain: ofCompanies((c) => c['parent_domain']), email_provider: ofCompanies((c) => c['email_provider']), technologies: ofCompanies((c) => c['stack']), technologies_any: ofCompanies((c) => c['stack']), exclude_technologies: ofCompanies((c) => c['stack']),
  technology_category: pick(['cloud', 'database', 'crm']), funding_stage: pick(['seed', 'series_a', 'series_c']), funding_total: range(0, 100_000_000), last_funding_amount: range(0, 50_000_000), last_funded_since: day,
  investors: pick(['Example Ventures', 'Fixture Fund']), hiring_title: pick(['data engineer', 'lead']), hiring_department: pick(['engineering', 'sales']), hiring_location: pick(['Berlin', 'Rome']), open_roles: range(0, 40), hiring_since: day,
  signal: pick(['funding', 'hiring', 'executive_move']), signal_since: day,
};

/** Filters that stand for themselves; `title_match` and `signal` with `signal_since` have tests of their own. */
const NAMES = Object.keys(MEETS).filter((name) => name !== 'signal_since');
const someFilters = fc
  .uniqueArray(pick(NAMES), { minLength: 1, maxLength: 5 })
  .chain((names) => fc.record(Object.fromEntries(names.map((name) => [name, fc.array(DRAW[name] as fc.Arbitrary<string>, { minLength: 1, maxLength: name === 'q' || name === 'technologies' ? 1 : 3 })]))));

describe('search', () => {
  it('has every filter of the definitions', () => {
    expect(Object.keys(FILTERS)).toHaveLength(69);
    expect([...Object.keys(MEETS), 'title_match'].sort()).toEqual(Object.keys(FILTERS).sort());
  });

  it.each(Object.keys(DRAW))('finds by %s what a plain scan finds', (name) => {
    let hits = 0;
    fc.assert(
      fc.property(DRAW[name] as fc.Arbitrary<string>, (value) => {
        const filters = { [name]: [value] };
        const expected = employees.filter((one) => meetsAll(filters, one)).map(({ person }) => String(person['id']));
        hits += expected.length;
        const { ids, total } = findAll(filters);
        expect([...ids].sort()).toEqual(expected.sort());
        expect(total).toBe(expected.length);
      }),
      { numRuns: 8, seed: 11 },
    );
    // Queries that find nobody show nothing.
    expect(hits).toBeGreaterThan(0);
  });

  it('takes a value with blanks, hyphens or underscores, whichever stand in the record', () => {
    const values = { ...Object.fromEntries(['city', 'company_city', 'company_region', 'email_provider', 'first_name', 'industry', 'keywords', 'region', 'skills', 'sub_department', 'technologies'].map((name) => [name, DRAW[name]])), funding_stage: pick(['series_a', 'series_b']), investors: pick(['Example Ventures']) } as Readonly<Record<string, fc.Arbitrary<string>>>;
    let tried = 0;
    for (const [name, value] of Object.entries(values)) {
      for (const one of new Set(fc.sample(value, { numRuns: 40, seed: 5 }).filter((text) => /\S[\s_-]\S/.test(text)))) {
        const counts = [' ', '-', '_', ' - '].map((sign) => findAll({ [name]: [one.replaceAll(/[\s_-]+/g, sign)] }).total);
        expect(counts, `${name}=${one}`).toEqual(Array.from(counts, () => employees.filter((each) => MEETS[name]?.(one, each)).length));
        tried++;
      }
    }
    expect(tried).toBeGreaterThan(20);
  });

  it('finds by many filters at once what a plain scan finds', () => {
    fc.assert(
      fc.property(someFilters, (filters) => {
        const expected = employees.filter((one) => meetsAll(filters, one)).map(({ person }) => String(person['id']));
        expect(findAll(filters).ids.sort()).toEqual(expected.sort());
      }),
      { numRuns: casesOf(60, 200) },
    );
  });

  it('takes a title by all its words, any of them, or as it is', () => {
    const title = 'Senior Data Engineer';
    const count = (match: string): number => findAll({ title: [title], title_match: [match] }).total;
    const titles = people.map((person) => String(person['title']));
    expect([count('all'), count('any'), count('exact')]).toEqual([
      titles.filter((one) => title.split(' ').every((word) => one.split(' ').includes(word))).length,
      titles.filter((one) => title.split(' ').some((word) => one.split(' ').includes(word))).length,
      titles.filter((one) => one === title).length,
    ]);
  });

  it('takes a signal since a day', () => {
    fc.assert(
      fc.property(pick(['funding', 'hiring']), day, (type, since) => {
        const expected = employees.filter(({ signals: own }) => own.some((signal) => signal['type'] === type && String(signal['occurred_at']) >= since));
        expect(findAll({ signal: [type], signal_since: [since] }).total).toBe(expected.length);
      }),
      { numRuns: 20 },
    );
  });

  it('has of somebody who is loaded twice at once what is known at the end', () => {
    const [one, other] = ['Plughwort', 'Frobozz'].map((title, n) => ({ email: 'twice@nowhere.example', title, updated_at: `2026-05-0${n + 1}` }));
    loadPeople(store, [one as SparseRecord, other as SparseRecord], 'test');
    expect([findAll({ title: ['plughwort'] }).total, findAll({ title: ['frobozz'] }).total]).toEqual([0, 1]);
    suppress(store, ['twice@nowhere.example'], 0);
  });

  it('forgets whoever is erased, with the words that only they had', () => {
    const [gone] = people.filter(({ email }) => email !== undefined);
    const before = findAll({}).total;
    loadPeople(store, [{ email: gone?.['email'], name: 'Xyzzyplugh Unique', updated_at: '2026-06-01' }], 'test');
    expect(findAll({ name: ['xyzzyplugh'] }).ids).toEqual([gone?.['id']]);
    suppress(store, [String(gone?.['email'])], 0);
    expect(findAll({ name: ['xyzzyplugh'] }).ids).toEqual([]);
    expect(findAll({}).total).toBe(before - 1);
    const colleagues = findAll({ domain: [String(gone?.['company_domain'])] });
    expect(colleagues.total).toBe(colleagues.ids.length);
    expect(store.prepare("SELECT term FROM person_terms WHERE term LIKE '%xyzzyplugh%'").all()).toEqual([]);
  });
});
