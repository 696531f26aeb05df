import * as fc from '../../support/fast-check.ts';
import { expect, it } from 'vitest';
import { BadValue } from '../../../src/service/records/filter-value.ts';
import { FILTERS } from '../../../src/service/search/filters.ts';
import { QueryEngine } from '../../../src/service/search/query-engine.ts';
import { loadCompanies, loadPeople } from '../../../src/service/store/rows/load.ts';
import type { Store } from '../../../src/service/store/store.ts';
import { emptyStore } from '../loading.ts';
import { toEnd } from '../../support/steps.ts';

const FIELDS = ['naics', 'sic'] as const;

function found(store: Store, name: string, value: string): number {
  const search = new QueryEngine(store, () => 0);
  const predicates = [FILTERS[name]?.parse([value], search.context, () => [])].flat().map((sides) => ({ ...sides, exclude: false }));
  return toEnd(search.find({ predicates, sort: 'relevance', descending: true, after: null, limit: 1 })).total;
}

/** Loads one person at one company. */
function fill(store: Store, codes: Readonly<Record<string, readonly string[]>>): void {
  loadCompanies(store, [{ domain: 'acme.example', ...codes }], 'test');
  loadPeople(store, [{ email: 'ada@acme.example', company_domain: 'acme.example' }], 'test');
}

it('a NAICS or SIC code is found by its first 2 to 8 digits, and by no others', async () => {
  const digits = fc.stringMatching(/^\d{2,9}$/);
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...FIELDS),
      fc.array(digits, { minLength: 1, maxLength: 3 }),
      fc.stringMatching(/^\d{2,8}$/),
      async (field, codes, other) => {
        const store = await emptyStore();
        fill(store, { [field]: codes });
        for (const code of codes)
          for (let length = 2; length <= Math.min(8, code.length); length++) expect(found(store, field, code.slice(0, length))).toBe(1);
        expect(found(store, field, other)).toBe(Number(codes.some((code) => code.startsWith(other))));
        store.close();
      },
    ),
    { numRuns: 30 },
  );
});

it('a SIC code with a hyphen is found by its digits', async () => {
  const store = await emptyStore();
  fill(store, { sic: ['7371-0301'] });
  expect(['73710301', '73710', '7371'].map((value) => found(store, 'sic', value))).toEqual([1, 1, 1]);
  store.close();
});

it.each(['5', '541511001', '54a', 'retail', '54-15', '٥٤'])('%s is refused as an industry code', (value) => {
  for (const field of FIELDS) expect(() => FILTERS[field]?.parse([value], {} as never, () => [])).toThrow(BadValue);
});
