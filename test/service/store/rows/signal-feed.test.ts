import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadCompanies, loadSignals } from '../../../../src/service/store/rows/load.ts';
import { SignalFeed, type SignalFilter, type SignalPosition } from '../../../../src/service/store/rows/signal-feed.ts';
import { openStore } from '../../../../src/service/store/open-store.ts';
import type { Store } from '../../../../src/service/store/store.ts';
import * as fc from '../../../support/fast-check.ts';
import { toEnd } from '../../../support/steps.ts';
import { temporaryFolder } from '../../harness.ts';

/** More than several windows of a page have. */
const SIZE = 3_000;
const COUNTRIES = ['DE', 'FR', 'US'] as const;
const INDUSTRIES = ['retail', 'mining', 'energy', 'media'] as const;
const TYPES = ['funding', 'hiring', 'technology_change'] as const;
const DAY_MS = 86_400_000;
const FIRST_MS = Date.parse('2025-01-01');

/** Signals of 40 companies. Some share a moment. */
const signals = Array.from({ length: SIZE }, (_, n) => ({
  id: `sig_${n}`,
  // One in a thousand.
  type: n % 1_000 === 7 ? 'executive_move' : TYPES[(n * 7) % 3],
  occurred_at: new Date(FIRST_MS + (((n * 37) % 500) * DAY_MS) / 4).toISOString(),
  company: { domain: `c${n % 40}.example`, name: `Company ${n % 40}` },
}));
const companyOf = (n: number): { country: string; industry: string } => ({
  country: COUNTRIES[n % 3] as string,
  industry: INDUSTRIES[n % 4] as string,
});

let store: Store;
let feed: SignalFeed;
beforeAll(async () => {
  store = openStore(`${await temporaryFolder()}/store.sqlite`);
  loadCompanies(
    store,
    Array.from({ length: 40 }, (_, n) => ({
      domain: `c${n}.example`,
      name: `Company ${n}`,
      industry: companyOf(n).industry,
      hq: { country_code: companyOf(n).country },
    })),
    'test',
  );
  loadSignals(store, signals, 'test');
  feed = new SignalFeed(store);
});
afterAll(() => store.close());

const filter: fc.Arbitrary<SignalFilter> = fc.record({
  types: fc.subarray([...TYPES, 'executive_move' as const]),
  since: fc.option(fc.integer({ min: 0, max: 130 }).map((day) => FIRST_MS + day * DAY_MS)),
  before: fc.option(fc.integer({ min: 0, max: 130 }).map((day) => FIRST_MS + day * DAY_MS)),
  domains: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, fc.subarray(['c1.example', 'c2.example', 'none.example'])),
  countries: fc.subarray([...COUNTRIES, 'ES']),
  industries: fc.subarray([...INDUSTRIES, 'law']),
});

/** The ids of the matching signals, the newest first. */
function plain({ types, since, before, domains, countries, industries }: SignalFilter): string[] {
  const has = (list: readonly string[], value: string): boolean => list.length === 0 || list.includes(value);
  return signals
    .map((signal, n) => ({ ...signal, n, ms: Date.parse(signal.occurred_at), ...companyOf(n % 40) }))
    .filter(
      ({ type, company, ms, country, industry }) =>
        has(types, type as string) &&
        has(domains, company.domain) &&
        has(countries, country) &&
        has(industries, industry) &&
        ms >= (since ?? -Infinity) &&
        ms < (before ?? Infinity),
    )
    .sort((one, other) => other.ms - one.ms || other.n - one.n)
    .map(({ id }) => id);
}

it('pages of signals are those of a plain scan, whatever is asked for and wherever a page ends', () => {
  fc.assert(
    fc.property(filter, fc.integer({ min: 200, max: 2_000 }), (asked, limit) => {
      const found: string[] = [];
      for (let after = null as SignalPosition | null; ;) {
        const page = toEnd(feed.page(asked, after, limit));
        found.push(...page.map(({ record }) => record['id'] as string));
        const last = page.at(-1);
        if (last === undefined || page.length < limit) break;
        after = last;
      }
      expect(found).toEqual(plain(asked));
    }),
    { numRuns: 60 },
  );
});

it('a page whose signals are rare examines a bounded number of rows in each step', () => {
  const rare: SignalFilter = {
    types: ['executive_move'],
    since: null,
    before: null,
    domains: [],
    countries: ['DE', 'FR'],
    industries: ['mining', 'media'],
  };
  let steps = 0;
  const found = toEnd(feed.page(rare, null, 10), () => steps++);
  expect(found.map(({ record }) => record['id'])).toEqual(plain(rare));
  // The index by type has three rows.
  expect(steps).toBeLessThan(10);
  const walked: SignalFilter = { ...rare, types: ['executive_move', 'funding'], countries: ['ES', 'DE'], industries: ['law', 'mining'] };
  steps = 0;
  toEnd(feed.page(walked, null, 1_000), () => steps++);
  // 250 rows, 500, 1,000 and the rest, and a step for each signal found.
  expect(steps - plain(walked).length).toBeGreaterThanOrEqual(4);
});
