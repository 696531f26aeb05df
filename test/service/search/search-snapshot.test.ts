import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import * as fc from '../../support/fast-check.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { QueryEngine, type SearchRequest } from '../../../src/service/search/query-engine.ts';
import { any, term } from '../../../src/service/search/predicate.ts';
import { SORTS } from '../../../src/service/store/index/sort-keys.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import type { Store } from '../../../src/service/store/store.ts';
import type { Steps } from '../../../src/util/steps.ts';
import { toEnd } from '../../support/steps.ts';
import { temporaryFolder } from '../harness.ts';
import { loadCompanies, loadPeople } from '../../../src/service/store/rows/load.ts';

const SIZE = 300;
let folder: string;
let path: string;
let store: Store;
let nowMs: number;
let engine: QueryEngine;

/** People; each third one is an engineer. @param wave tells those of one import from those of another */
function people(wave: string, title = 'engineer'): Record<string, unknown>[] {
  return Array.from({ length: SIZE }, (_, n) => ({
    id: `pe_${wave}_${n}`,
    name: `Name ${n % 17}`,
    title: n % 3 === 0 ? title : 'baker',
    company_domain: `c${n % 20}.example`,
    observed_at: `2025-01-${String((n % 28) + 1).padStart(2, '0')}`,
  }));
}

const companies = Array.from({ length: 20 }, (_, n) => ({ domain: `c${n}.example`, name: `Company ${n}`, employees: n * 10 }));
const ENGINEERS: SearchRequest = {
  predicates: [{ person: any([term('title~engineer')]), exclude: false }],
  sort: 'relevance',
  descending: true,
  after: null,
  limit: SIZE,
};

/** Another process. */
function elsewhere(write: (other: Store) => void): void {
  const other = openStore(path);
  write(other);
  other.close();
}

beforeEach(async () => {
  folder = await temporaryFolder();
  path = join(folder, 'store.sqlite');
  store = openStore(path);
  nowMs = 0;
  engine = new QueryEngine(store, () => nowMs);
  loadPeople(store, people('first'), 'test');
  loadCompanies(store, companies, 'test');
});
afterEach(async () => {
  engine.close();
  store.close();
  await rm(folder, { recursive: true });
});

type Search = ReturnType<QueryEngine['find']>;
type Found = Search extends Steps<infer Result> ? Result : never;

/** Takes some steps. Returns the result, when they were the last. */
function take(search: Search, count: number): Found | null {
  for (let step = 0; step < count; step++) {
    const { done, value } = search.next();
    if (done === true) return value;
    if (typeof value !== 'number') throw new Error('the search waits');
  }
  return null;
}

it.each(SORTS)('a search by %s that is cut anywhere finds what it found at its beginning, whatever is written meanwhile', (sort) => {
  let waves = 0;
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 60 }), fc.boolean(), fc.boolean(), (steps, descending, isElsewhere) => {
      const asked = { ...ENGINEERS, sort, descending, limit: 40 };
      const before = toEnd(engine.find(asked));
      const search = engine.find(asked);
      const early = take(search, steps);
      const write = (to: Store): void => void loadPeople(to, people(`wave ${waves++}`), 'test');
      if (isElsewhere) elsewhere(write);
      else write(store);
      const found = early ?? toEnd(search);
      expect(found.total).toBe(before.total);
      expect(found.rows.map(({ position }) => position)).toEqual(before.rows.map(({ position }) => position));
      expect(toEnd(engine.find(asked)).total).toBe(before.total + SIZE / 3);
    }),
    { numRuns: 12 },
  );
});

it('searches that run at the same time do not disturb one another', () => {
  const requests = SORTS.flatMap((sort) =>
    [true, false].map((descending): SearchRequest => ({ ...ENGINEERS, sort, descending, limit: 30, predicates: [] })),
  );
  const expected = requests.map((request) => toEnd(engine.find(request)).rows.map(({ position }) => position.id));
  const running = requests.map((request) => ({ search: engine.find(request), found: null as Found | null }));
  while (running.some(({ found }) => found === null)) for (const one of running) one.found ??= take(one.search, 1);
  expect(running.map(({ found }) => found?.rows.map(({ position }) => position.id))).toEqual(expected);
});

it('a search waits for those that began before a write, and sees the write', async () => {
  const first = engine.find(ENGINEERS);
  expect(take(first, 3)).toBeNull();
  const joined = engine.find(ENGINEERS);
  expect(take(joined, 1)).toBeNull();
  elsewhere((other) => void loadPeople(other, people('second'), 'test'));
  const second = engine.find(ENGINEERS);
  const waits = second.next().value;
  expect(waits).toBeInstanceOf(Promise);
  toEnd(first);
  // The other one still runs.
  expect(second.next().value).toBe(waits);
  toEnd(joined);
  await waits;
  expect(toEnd(second).total).toBe((2 * SIZE) / 3);
});

it('searches let the write-ahead log go after some seconds, however many follow one another', () => {
  const first = engine.find(ENGINEERS);
  take(first, 1);
  nowMs += 4_000;
  const joins = engine.find(ENGINEERS);
  expect(take(joins, 1)).toBeNull();
  nowMs += 2_000;
  expect(engine.find(ENGINEERS).next().value).toBeInstanceOf(Promise);
  toEnd(first);
  toEnd(joins);
  const other = new DatabaseSync(path);
  try {
    loadPeople(store, people('second'), 'test');
    expect(other.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()).toMatchObject({ busy: 0 });
  } finally {
    other.close();
  }
});

it('shows nobody who was removed while the search ran', () => {
  const search = engine.find(ENGINEERS);
  take(search, 3);
  elsewhere((other) => other.exec("DELETE FROM people WHERE id = 'pe_first_0'"));
  const { rows, total } = toEnd(search);
  expect(rows).toHaveLength(total - 1);
  expect(rows.map(({ position }) => position.id)).not.toContain('pe_first_0');
});

it('a search that fails lets the next ones begin', () => {
  const broken: SearchRequest = {
    ...ENGINEERS,
    get predicates(): never {
      throw new Error('broken');
    },
  };
  expect(() => toEnd(engine.find(broken))).toThrow('broken');
  loadPeople(store, people('second'), 'test');
  expect(toEnd(engine.find(ENGINEERS)).total).toBe((2 * SIZE) / 3);
});
