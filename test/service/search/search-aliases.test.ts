/** People and signals at an alias of a company count as the company's, in any order of the records. */
import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import type { SparseRecord } from '../../../src/service/records/whole-record.ts';
import { FILTERS } from '../../../src/service/search/filters.ts';
import { QueryEngine } from '../../../src/service/search/query-engine.ts';
import type { Sort } from '../../../src/service/store/index/sort-keys.ts';
import { openDirectory } from '../../../src/service/store/directory.ts';
import { loadCompanies, loadPeople, loadSignals } from '../../../src/service/store/rows/load.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { PersonRow } from '../../../src/service/store/rows/person-row.ts';
import { SignalFeed, type SignalFilter } from '../../../src/service/store/rows/signal-feed.ts';
import type { Store } from '../../../src/service/store/store.ts';
import { suppress } from '../../../src/service/erasure/suppress.ts';
import { temporaryFolder } from '../harness.ts';
import { load } from '../loading.ts';
import { PlainCompanies } from './plain-companies.ts';
import { meetsAll, type Employee } from './plain-filters.ts';
import { casesOf } from '../../support/sample.ts';
import { toEnd } from '../../support/steps.ts';

const DOMAINS = Array.from({ length: 7 }, (_, n) => `d${n}.example`);
/** Companies have the first five; the others are aliases only. */
const domain = fc.constantFrom(...DOMAINS);

const company = fc.record({
  kind: fc.constant('company' as const),
  domain: fc.constantFrom(...DOMAINS.slice(0, 5)),
  name: fc.constantFrom('Red Works', 'Blue Works'),
  employees: fc.constantFrom(5, 50, 500),
  industry: fc.constantFrom('Retail', 'Banking'),
  // An empty list leaves the earlier aliases.
  domain_aliases: fc.uniqueArray(domain, { maxLength: 3 }),
});
const person = fc.record({
  kind: fc.constant('person' as const),
  email: fc.nat(9).map((n) => `n${n}@mail.example`),
  company_domain: domain,
});
const erased = fc.record({ kind: fc.constant('erased' as const), email: fc.nat(9).map((n) => `n${n}@mail.example`) });
/** An id stands for one domain and type. */
const signal = fc
  .record({
    kind: fc.constant('signal' as const),
    id: fc.nat(4).map((n) => `sg_${n}`),
    type: fc.constantFrom('funding', 'hiring'),
    domain,
    occurred_at: fc.integer({ min: 10, max: 28 }).map((day) => `2026-01-${day}`),
    data: fc.constant({ titles: ['Welder'] }),
  })
  .map((one) => ({ ...one, id: `${one.id}_${one.type}_${one.domain}` }));
/** Records of one step, and how they are written: by an import, in one transaction, in one transaction each, or by another connection. */
const step = fc.record({
  way: fc.constantFrom('import', 'whole', 'single', 'elsewhere'),
  news: fc.array(
    fc.oneof(
      { weight: 5, arbitrary: company },
      { weight: 5, arbitrary: person },
      { weight: 3, arbitrary: signal },
      { weight: 1, arbitrary: erased },
    ),
    { minLength: 1, maxLength: 4 },
  ),
});
type News = { readonly kind: 'company' | 'person' | 'signal' | 'erased' } & SparseRecord;

const ASKED: Readonly<Record<string, readonly string[]>>[] = [
  {},
  { headcount: ['1-10'] },
  { headcount: ['40-'] },
  { company: ['red'] },
  { q: ['blue'] },
  { signal: ['funding'] },
  { signal: ['hiring'] },
  { hiring_title: ['welder'] },
  { signal_since: ['2026-01-20'] },
  ...DOMAINS.flatMap((one, n) => [
    { domain: [one] },
    { exclude_domain: [one] },
    { domain: [one, DOMAINS[(n + 2) % DOMAINS.length] as string], headcount: ['1-100'] },
  ]),
];

/** A later record has a later date. */
function dated(one: News, atMs: number): News {
  const at = new Date(atMs).toISOString();
  return { ...one, updated_at: at, ...(one.kind === 'signal' ? { detected_at: at } : {}) };
}

/** A model of the store. */
class Model {
  readonly companies = new Map<unknown, SparseRecord>();
  readonly people = new Map<unknown, SparseRecord>();
  readonly signals = new Map<unknown, SparseRecord>();
  readonly #gone = new Set<unknown>();

  add({ kind, ...record }: News): void {
    if (kind === 'company') {
      const before = this.companies.get(record['domain']);
      this.companies.set(record['domain'], {
        ...record,
        ...((record['domain_aliases'] as unknown[]).length === 0 ? { domain_aliases: before?.['domain_aliases'] } : {}),
      });
    } else if (kind === 'erased') {
      this.people.delete(record['email']);
      this.#gone.add(record['email']);
    } else if (kind === 'signal') {
      this.signals.set(record['id'], record);
    } else if (!this.#gone.has(record['email'])) this.people.set(record['email'], record);
  }

  get shown(): PlainCompanies {
    const shown = new PlainCompanies();
    for (const one of this.companies.values()) shown.add(one['domain'], one['domain_aliases'], one);
    return shown;
  }

  signalsAt(domain: unknown): SparseRecord[] {
    const { shown } = this;
    return [...this.signals.values()].filter((one) => shown.domainOf(one['domain']) === shown.domainOf(domain));
  }

  employees(): Employee[] {
    const { shown } = this;
    return [...this.people.values()].map((one) => ({
      person: one,
      company: shown.shownFor(one['company_domain']) ?? {},
      worksAt: (other) => shown.domainOf(other) === shown.domainOf(one['company_domain']),
      signals: shown.shownFor(one['company_domain']) === null ? [] : this.signalsAt(one['company_domain']),
    }));
  }
}

const KINDS = { company: 'companies', person: 'contacts', signal: 'signals' } as const;

async function put(store: Store, path: string, way: string, news: readonly News[]): Promise<void> {
  const ofKind = (all: readonly News[], kind: News['kind']): SparseRecord[] =>
    all.flatMap(({ kind: its, ...record }) => (its === kind ? [record] : []));
  if (way === 'import') {
    for (const kind of new Set(news.map(({ kind: its }) => its)))
      if (kind !== 'erased') await load(store, ofKind(news, kind), { kind: KINDS[kind], name: 'crm.jsonl' });
  } else {
    const target = way === 'elsewhere' ? openStore(path) : store;
    for (const some of way === 'single' ? news.map((one) => [one]) : [news]) {
      loadCompanies(target, ofKind(some, 'company'), 'test');
      loadPeople(target, ofKind(some, 'person'), 'test');
      loadSignals(target, ofKind(some, 'signal'), 'test');
    }
    if (target !== store) target.close();
  }
  suppress(
    store,
    ofKind(news, 'erased').map(({ email }) => String(email)),
    0,
  );
}

class Searcher {
  readonly #index: QueryEngine;

  constructor(store: Store) {
    this.#index = new QueryEngine(store, () => 0);
  }

  rows(
    filters: Readonly<Record<string, readonly string[]>>,
    sort: Sort = 'name',
    descending = false,
    limit = 100,
  ): readonly Readonly<Record<string, unknown>>[] {
    const predicates = Object.entries(filters).flatMap(([name, values]) => {
      const filter = FILTERS[name];
      if (filter === undefined) throw new Error(name);
      return [filter.parse(values, this.#index.context, () => [])].flat().map((sides) => ({ ...sides, exclude: filter.exclude }));
    });
    const rows: Readonly<Record<string, unknown>>[] = [];
    for (let after = null as { key: string | number; id: string } | null; ;) {
      const page = toEnd(this.#index.find({ predicates, sort, descending, after, limit }));
      rows.push(...page.rows.map(({ row }) => row));
      if (page.next === null) return rows;
      after = page.next;
    }
  }

  emails(...asked: Parameters<Searcher['rows']>): string[] {
    return this.rows(...asked).map(({ doc }) => (JSON.parse(doc as string) as { email: string }).email);
  }
}

/** Search finds what a plain scan of the model finds, and shows each person with the company that they are found by. */
function check(store: Store, searcher: Searcher, model: Model): void {
  const employees = model.employees();
  for (const filters of ASKED)
    expect([JSON.stringify(filters), ...searcher.emails(filters).sort()]).toEqual([
      JSON.stringify(filters),
      ...employees
        .filter((one) => meetsAll(filters, one))
        .map(({ person: { email } }) => String(email))
        .sort(),
    ]);
  const sizeOf = new Map(employees.map(({ person: { email }, company: { employees: size } }) => [email, size ?? -1]));
  for (const descending of [false, true]) {
    const sizes = searcher.emails({}, 'headcount', descending, 3).map((email) => sizeOf.get(email) as number);
    expect(sizes).toEqual([...sizes].sort((one, other) => (descending ? other - one : one - other)));
    expect(sizes).toHaveLength(employees.length);
  }
  const directory = openDirectory(store);
  const shown = new Map(employees.map(({ person: { email }, company: { domain: own } }) => [email, own]));
  for (const row of searcher.rows({})) {
    const found = PersonRow.of(row);
    const { domain: own, name } = JSON.parse(directory.companyOf(found) ?? '{}') as SparseRecord;
    expect(name === null ? undefined : own).toBe(shown.get(found.person['email']));
  }
}

const ANY: SignalFilter = { types: [], since: null, before: null, domains: [], countries: [], industries: [] };

/** Signals belong to the company that is shown for their domain: in its record, by each of its domains, and by its industry. */
function checkSignals(store: Store, model: Model): void {
  const { shown } = model;
  const idsOf = (signals: readonly SparseRecord[]): string[] => signals.map(({ id }) => String(id)).sort();
  const feed = new SignalFeed(store);
  const find = (filter: Partial<SignalFilter>): SparseRecord[] =>
    toEnd(feed.page({ ...ANY, ...filter }, null, 100)).map(({ record }) => record);
  const directory = openDirectory(store);
  for (const one of DOMAINS) {
    const record = JSON.parse(directory.companyByDomain(one) ?? '{}') as SparseRecord;
    const own = model.signalsAt(one);
    if (record['domain'] !== undefined) expect([one, ...idsOf((record['signals'] ?? []) as SparseRecord[])]).toEqual([one, ...idsOf(own)]);
    const found = find({ domains: [one] });
    expect([one, ...idsOf(found)]).toEqual([one, ...idsOf(own)]);
    for (const { company: about } of found) expect((about as SparseRecord)['domain']).toBe(record['domain'] ?? one);
  }
  for (const industry of ['Retail', 'Banking'])
    expect(idsOf(find({ industries: [industry.toLowerCase()] }))).toEqual(
      idsOf([...model.signals.values()].filter((each) => shown.shownFor(each['domain'])?.['industry'] === industry)),
    );
}

describe('people at an alias of a company', () => {
  it('count as its people after any sequence of changes', async () => {
    let atAliases = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
        const path = `${await temporaryFolder()}/store.sqlite`;
        const store = openStore(path);
        const [searcher, model] = [new Searcher(store), new Model()];
        let minute = 0;
        for (const { way, news } of steps) {
          const timed = news.map((one) => dated(one, Date.UTC(2026, 0, 1, 0, minute++)));
          await put(store, path, way, timed);
          // `put` erases last, too.
          for (const one of timed.filter(({ kind }) => kind !== 'erased').concat(timed.filter(({ kind }) => kind === 'erased')))
            model.add(one);
          check(store, searcher, model);
          checkSignals(store, model);
        }
        atAliases += model
          .employees()
          .filter(({ person: one, company: at }) => at['domain'] !== undefined && at['domain'] !== one['company_domain']).length;
        store.close();
      }),
      { numRuns: casesOf(12, 100) },
    );
    // Without a person at an alias the property tests nothing.
    expect(atAliases).toBeGreaterThan(0);
  });
});
