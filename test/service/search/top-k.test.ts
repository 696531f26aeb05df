import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from '../../support/fast-check.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SparseRecord } from '../../../src/service/records/whole-record.ts';
import { BLOCK, emptyBitmap, setBit } from '../../../src/service/store/index/bitmap.ts';
import { EmployerReader } from '../../../src/service/store/index/employers.ts';
import { range } from '../../../src/service/search/predicate.ts';
import { ResultPager } from '../../../src/service/search/top-k.ts';
import type { CursorPosition } from '../../../src/service/search/sort-orders.ts';
import { QueryEngine } from '../../../src/service/search/query-engine.ts';
import { SORTS, type Sort } from '../../../src/service/store/index/sort-keys.ts';
import { loadCompanies, loadPeople } from '../../../src/service/store/rows/load.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import type { Store } from '../../../src/service/store/store.ts';
import { suppress } from '../../../src/service/erasure/suppress.ts';
import { emptyStore } from '../loading.ts';
import { toEnd } from '../../support/steps.ts';

const COLUMNS = [
  'person_times',
  'person_ranks',
  'person_name_heads',
  'person_name_tails',
  'person_id_heads',
  'person_id_tails',
  'company_sizes',
  'alias_companies',
] as const;
const KEYS: Readonly<Record<Sort, string>> = {
  relevance: 'rank',
  updated_at: 'people.observed_at',
  name: 'name_key',
  headcount: 'coalesce(employees, -1)',
};
/** First row and length of each part: rows on both sides of a chunk boundary and of a block boundary, and in many more chunks. */
const PARTS = [[1, 40], [4_080, 40], [65_520, 40], ...Array.from({ length: 12 }, (_, n) => [70_000 + n * 5_000, 6] as const)] as const;

/** Several have the same size. */
const COMPANIES = 30;
const companyName = (n: number): string => `company-${n}.example`;
/** Some companies have an alias. */
const ALIASES = 12;
const aliasName = (n: number): string => `alias-${n}.example`;
const WORKPLACE = 'companies ON domain = coalesce((SELECT domain FROM domain_aliases WHERE alias = company_domain), company_domain)';

/** Few distinct keys, so that many tie, and names and ids with common prefixes. */
const person = fc.record({
  name: fc.option(
    fc.constantFrom(
      'Ada',
      'Ada Lovelace',
      'Ada Lovelace-King',
      'Ada Lovelace-Byron',
      'Żaneta',
      '山田',
      '山田 太郎',
      '山田 次郎',
      'Ёлка',
      'Maria de la Concepcion Zeta',
      'Maria de la Concepcion Alfa',
      'O{x',
      'O{y',
      '\u{20000}',
    ),
    { nil: undefined },
  ),
  updated_at: fc.option(fc.constantFrom('2026-01-01', '2026-01-02', '2026-01-02T10:00:00.001Z', '1969-12-31'), { nil: undefined }),
  email_status: fc.constantFrom('verified', 'risky'),
  company_domain: fc.option(
    fc.oneof(
      fc.constantFrom('one.example', 'two.example', 'three.example', 'unknown.example'),
      fc.nat(COMPANIES - 1).map(companyName),
      fc.nat(ALIASES - 1).map(aliasName),
    ),
    { nil: undefined },
  ),
  id: fc
    .tuple(fc.constantFrom('', 'contact-of-the-old-crm-', 'é', '00'), fc.stringMatching(/^[0-9A-Za-z]{1,3}$/))
    .map((parts) => parts.join('')),
});
const persons = (seed: number, count: number): SparseRecord[] =>
  fc
    .sample(person, { seed, numRuns: count })
    .map((one, n) => ({ ...one, id: `${one.id}.${seed}.${n}`, email: `n${n}.${seed}@acme.example` }));

let folder: string;
let store: Store;
let search: QueryEngine;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-search-'));
  store = openStore(join(folder, 'store.sqlite'));
  loadCompanies(
    store,
    [
      { domain: 'one.example', employees: 5 },
      { domain: 'two.example', employees: 70_000 },
      { domain: 'three.example' },
      ...Array.from({ length: COMPANIES }, (_, n) => ({
        domain: companyName(n),
        employees: 10 + (n % 9),
        ...(n < ALIASES ? { domain_aliases: [aliasName(n)] } : {}),
      })),
    ],
    'test',
  );
  for (const [n, [start, count]] of PARTS.entries()) {
    // SQLite assigns the row after the greatest one.
    if (start > 1)
      store
        .prepare("INSERT INTO people (seq, id, name_key, rank, doc, source, observed_at) VALUES (?, 'gap', '', 0, '{}', 1, 0)")
        .run(start - 1);
    loadPeople(store, persons(n, count), 'test');
    store.exec("DELETE FROM people WHERE id = 'gap'");
  }
  search = new QueryEngine(store, () => 0);
});
afterAll(async () => {
  store.close();
  await rm(folder, { recursive: true });
});

const idsInOrder = (sort: Sort, descending: boolean): string[] => {
  const order = descending ? 'DESC' : 'ASC';
  return store
    .prepare(`SELECT people.id FROM people LEFT JOIN ${WORKPLACE} ORDER BY ${KEYS[sort]} ${order}, people.id ${order}`)
    .all()
    .map(({ id }) => id as string);
};

/** All pages; `between` is called before each page but the first. */
function pages(sort: Sort, descending: boolean, limit: number, between: () => void = () => undefined): string[] {
  const ids: string[] = [];
  for (let after = null as CursorPosition | null; ; between()) {
    const { rows, next } = toEnd(search.find({ predicates: [], sort, descending, after, limit }));
    ids.push(...rows.map(({ row: { doc } }) => (JSON.parse(doc as string) as { id: string }).id));
    if (next === null) return ids;
    if (ids.length > 1_000) throw new Error('pages without end');
    after = next;
  }
}

const columns = (of: Store): unknown[] => COLUMNS.map((name) => of.prepare(`SELECT * FROM ${name}`).all());

describe.each(SORTS)('the order by %s', (sort) => {
  it('equals the order of SQLite, ascending and descending, in pages of any size', () => {
    fc.assert(
      fc.property(fc.boolean(), fc.integer({ min: 1, max: 150 }), (descending, limit) => {
        expect(pages(sort, descending, limit)).toEqual(idsInOrder(sort, descending));
      }),
      { numRuns: 10 },
    );
  });

  it('gives the first rows of any result set behind any cursor', () => {
    const everybody = idsInOrder(sort, false);
    // Also people next to each other in the order, so that an ordered scan finds no match for long.
    const some = fc.oneof(
      fc.subarray(everybody, { minLength: 1 }),
      fc.subarray(everybody, { minLength: 1, maxLength: 9 }),
      fc.uniqueArray(fc.nat(18), { minLength: 1 }).map((tens) => everybody.filter((_, n) => tens.includes(Math.floor(n / 10)))),
    );
    // As if they were among a million people at few companies: then the ordered scans are chosen.
    const few = emptyBitmap(1_000);
    for (let company = 0; company < 60; company++) setBit(few, company);
    const pager = new ResultPager(store, new EmployerReader(store));
    const seqOf = store.prepare('SELECT seq FROM people WHERE id = ?');
    fc.assert(
      fc.property(
        fc.boolean(),
        fc.oneof(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 2, max: 9 })),
        some,
        fc.nat(),
        fc.boolean(),
        (descending, limit, chosen, from, areMany) => {
          const found = emptyBitmap(2 * BLOCK);
          for (const id of chosen) setBit(found, seqOf.get(id)?.['seq'] as number);
          const [among, ids] = [new Set(chosen), descending ? everybody.toReversed() : everybody];
          const before = ids[from % (ids.length + 1)];
          const after =
            before === undefined
              ? null
              : {
                  key: store.prepare(`SELECT ${KEYS[sort]} AS key FROM people LEFT JOIN ${WORKPLACE} WHERE people.id = ?`).get(before)?.[
                    'key'
                  ] as string | number,
                  id: before,
                };
          const rest = after === null ? ids : ids.slice(ids.indexOf(after.id) + 1);
          const page = toEnd(
            pager.page(
              {
                found,
                total: chosen.length,
                ...(areMany ? { people: 1_000_000, companies: few } : { people: everybody.length, companies: null }),
              },
              { sort, descending, after, limit },
            ),
          );
          expect(page.map(({ id }) => id)).toEqual(rest.filter((id) => among.has(id)).slice(0, limit));
        },
      ),
      { numRuns: 150 },
    );
  });

  it.each([false, true])('gives each row once while others are added between the pages (descending: %s)', (descending) => {
    const before = new Set(idsInOrder(sort, false));
    let added = 0;
    const seen = pages(sort, descending, 20, () =>
      loadPeople(store, persons(1_000 + SORTS.indexOf(sort) * 100 + Number(descending) * 50 + added++, 2), 'test'),
    );
    expect(added).toBeGreaterThan(4);
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.filter((id) => before.has(id))).toEqual(idsInOrder(sort, descending).filter((id) => before.has(id)));
    const order = idsInOrder(sort, descending);
    expect(seen).toEqual(order.filter((id) => seen.includes(id)));
  });

  it('follows new reports of people and of their employers', () => {
    const ids = idsInOrder(sort, false).filter((_, n) => n % 7 === 0);
    loadPeople(
      store,
      ids.map((id, n) => ({
        id,
        name: `Zoe ${n}`,
        updated_at: `2026-02-0${1 + (n % 9)}`,
        mobile: '+12125550100',
        company_domain: 'late.example',
      })),
      'test',
    );
    expect(pages(sort, true, 30)).toEqual(idsInOrder(sort, true));
    const late = SORTS.indexOf(sort) + 1;
    loadCompanies(
      store,
      [
        { domain: 'late.example', employees: late * 10, updated_at: `2026-03-0${late}` },
        { domain: 'one.example', employees: late * 100, updated_at: `2026-03-0${late}` },
      ],
      'test',
    );
    expect(pages(sort, false, 30)).toEqual(idsInOrder(sort, false));
  });
});

describe('the caches of employers and headcounts', () => {
  const found = (name: string): { readonly ids: string[]; readonly total: number } => {
    const { rows, total } = toEnd(
      search.find({
        predicates: [{ company: range('employees', 1, 1_000_000), exclude: false }],
        sort: 'headcount',
        descending: true,
        after: null,
        limit: 3,
      }),
    );
    return {
      ids: rows
        .map(({ row: { doc } }) => JSON.parse(doc as string) as { name?: string; id: string })
        .filter((one) => one.name === name)
        .map(({ id }) => id),
      total,
    };
  };

  it.each(['this connection', 'another one'])('forget old values after a write over %s', (which) => {
    const other = which === 'another one' ? openStore(join(folder, 'store.sqlite')) : store;
    const [name, domain] = [`Greta ${which}`, `${which.replace(' ', '-')}.example`];
    const { total } = found(name);
    loadPeople(other, [{ id: `late ${which}`, name, company_domain: domain }], 'test');
    expect(found(name)).toEqual({ ids: [], total });
    loadCompanies(other, [{ domain, employees: 900_000 }], 'test');
    expect(found(name)).toEqual({ ids: [`late ${which}`], total: total + 1 });
    loadPeople(other, [{ id: `late ${which}`, name, company_domain: 'gone.example', updated_at: '2026-07-01' }], 'test');
    expect(found(name)).toEqual({ ids: [], total });
    if (other !== store) other.close();
  });
});

describe('the sort columns', () => {
  it('keep nothing of erased people', async () => {
    const [one, other] = [await emptyStore(), await emptyStore()];
    const [ada, ...more] = persons(7, 3);
    for (const each of [one, other]) loadPeople(each, [...more, { id: 'last', email: 'last@acme.example' }], 'test');
    loadPeople(one, [ada as SparseRecord], 'test');
    expect(columns(one)).not.toEqual(columns(other));
    suppress(one, [String(ada?.['email'])], 7);
    expect(columns(one)).toEqual(columns(other));
    suppress(one, [...more.map(({ email }) => String(email)), 'last@acme.example'], 7);
    expect(columns(one)).toEqual(COLUMNS.map(() => []));
    one.close();
    other.close();
  });
});
