import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from '../../support/fast-check.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SparseRecord } from '../../../src/service/records/whole-record.ts';
import { FILTERS } from '../../../src/service/search/filters.ts';
import type { FilterGroup } from '../../../src/service/search/predicate.ts';
import { QueryEngine } from '../../../src/service/search/query-engine.ts';
import type { Sort } from '../../../src/service/store/index/sort-keys.ts';
import { loadCompanies, loadPeople, loadSignals } from '../../../src/service/store/rows/load.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { suppress } from '../../../src/service/erasure/suppress.ts';
import type { Store } from '../../../src/service/store/store.ts';
import { casesOf } from '../../support/sample.ts';
import { companies, day, DRAW, employees, people, pick, signals, SIZE } from './drawn-filters.ts';
import { MEETS, meetsAll, TODAY } from './plain-filters.ts';
import { toEnd } from '../../support/steps.ts';

let store: Store;
let search: QueryEngine;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-search-'));
  store = openStore(join(folder, 'store.sqlite'));
  // Unlike an import: the companies come after their people.
  loadPeople(store, people, 'test');
  loadSignals(store, signals, 'test');
  loadCompanies(store, companies, 'test');
  search = new QueryEngine(store, () => Date.parse(TODAY));
});
afterAll(async () => {
  store.close();
  await rm(folder, { recursive: true });
});

function predicatesOf(filters: Readonly<Record<string, readonly string[]>>): FilterGroup[] {
  return Object.entries(filters).flatMap(([name, values]) => {
    const filter = FILTERS[name];
    if (filter === undefined) throw new Error(name);
    return [filter.parse(values, search.context, (other) => filters[other] ?? [])]
      .flat()
      .map((sides) => ({ ...sides, exclude: filter.exclude }));
  });
}

function findAll(
  filters: Readonly<Record<string, readonly string[]>>,
  sort: Sort = 'name',
  descending = false,
  limit = SIZE,
): { ids: string[]; total: number } {
  const ids: string[] = [];
  for (let after = null as { key: string | number; id: string } | null; ;) {
    const { rows, next, total } = toEnd(search.find({ predicates: predicatesOf(filters), sort, descending, after, limit }));
    ids.push(...rows.map(({ row: { doc } }) => (JSON.parse(doc as string) as { id: string }).id));
    if (next === null) return { ids, total };
    after = next;
  }
}
/** Filters for random combinations; `title_match` and `signal` with `signal_since` have tests of their own. */
const NAMES = Object.keys(MEETS).filter((name) => name !== 'signal_since');
const someFilters = fc
  .uniqueArray(pick(NAMES), { minLength: 1, maxLength: 5 })
  .chain((names) =>
    fc.record(
      Object.fromEntries(
        names.map((name) => [
          name,
          fc.array(DRAW[name] as fc.Arbitrary<string>, { minLength: 1, maxLength: name === 'q' || name === 'technologies' ? 1 : 3 }),
        ]),
      ),
    ),
  );

describe('search', () => {
  it('has a plain definition and random values for every filter of the table', () => {
    const names = Object.keys(FILTERS).filter((name) => name !== 'title_match');
    expect(Object.keys(MEETS).sort()).toEqual(names.sort());
    expect(Object.keys(DRAW).sort()).toEqual(names.sort());
  });

  it.each(Object.keys(DRAW))('finds by the filter %s what a plain scan finds', (name) => {
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
      { numRuns: 24, seed: 11 },
    );
    // A filter that finds no person tests nothing.
    expect(hits).toBeGreaterThan(0);
  });

  it('takes spaces, hyphens and underscores as equal', () => {
    const values = {
      ...Object.fromEntries(
        [
          'city',
          'company_city',
          'company_region',
          'email_provider',
          'first_name',
          'industry',
          'keywords',
          'region',
          'skills',
          'sub_department',
          'technologies',
        ].map((name) => [name, DRAW[name]]),
      ),
      funding_stage: pick(['series_a', 'series_b']),
      investors: pick(['Example Ventures']),
    } as Readonly<Record<string, fc.Arbitrary<string>>>;
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

  it('finds by random combinations of filters what a plain scan finds', () => {
    fc.assert(
      fc.property(someFilters, (filters) => {
        const expected = employees.filter((one) => meetsAll(filters, one)).map(({ person }) => String(person['id']));
        expect(findAll(filters).ids.sort()).toEqual(expected.sort());
      }),
      { numRuns: casesOf(60, 200) },
    );
  });

  it('matches a title by all its words, any of them, or exactly', () => {
    const title = 'Senior Data Engineer';
    const count = (match: string): number => findAll({ title: [title], title_match: [match] }).total;
    const titles = people.map((person) => String(person['title']));
    expect([count('all'), count('any'), count('exact')]).toEqual([
      titles.filter((one) => title.split(' ').every((word) => one.split(' ').includes(word))).length,
      titles.filter((one) => title.split(' ').some((word) => one.split(' ').includes(word))).length,
      titles.filter((one) => one === title).length,
    ]);
  });

  it('narrows `signal` by `signal_since`', () => {
    fc.assert(
      fc.property(pick(['funding', 'hiring']), day, (type, since) => {
        const expected = employees.filter(({ signals: own }) =>
          own.some((signal) => signal['type'] === type && String(signal['occurred_at']) >= since),
        );
        expect(findAll({ signal: [type], signal_since: [since] }).total).toBe(expected.length);
      }),
      { numRuns: 20 },
    );
  });

  it('indexes the last report of a person who is loaded twice in one transaction', () => {
    const [one, other] = ['Plughwort', 'Frobozz'].map((title, n) => ({
      email: 'twice@nowhere.example',
      title,
      updated_at: `2026-05-0${n + 1}`,
    }));
    loadPeople(store, [one as SparseRecord, other as SparseRecord], 'test');
    expect([findAll({ title: ['plughwort'] }).total, findAll({ title: ['frobozz'] }).total]).toEqual([0, 1]);
    suppress(store, ['twice@nowhere.example'], 0);
  });

  it('forgets an erased person, and the words that only this person had', () => {
    const [gone] = people.filter(({ email }) => email !== undefined);
    const before = findAll({}).total;
    loadPeople(store, [{ id: gone?.['id'], email: gone?.['email'], name: 'Xyzzyplugh Unique', updated_at: '2026-06-01' }], 'test');
    expect(findAll({ name: ['xyzzyplugh'] }).ids).toEqual([gone?.['id']]);
    suppress(store, [String(gone?.['email'])], 0);
    expect(findAll({ name: ['xyzzyplugh'] }).ids).toEqual([]);
    expect(findAll({}).total).toBe(before - 1);
    const colleagues = findAll({ domain: [String(gone?.['company_domain'])] });
    expect(colleagues.total).toBe(colleagues.ids.length);
    expect(store.prepare("SELECT term FROM person_terms WHERE term LIKE '%xyzzyplugh%'").all()).toEqual([]);
  });
});
