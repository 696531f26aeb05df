import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { BadValue } from '../../../src/service/search/bad-value.ts';
import { FILTERS } from '../../../src/service/search/filters.ts';
import { SearchIndex } from '../../../src/service/search/search-index.ts';
import { loadCompanies, loadPeople } from '../../../src/service/store/load.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import type { Store } from '../../../src/service/store/store.ts';
import { temporaryFolder } from '../harness.ts';
import { emptyStore } from '../loading.ts';
import { backTo } from '../older-stores.ts';

const FIELDS = ['naics', 'sic'] as const;

function found(store: Store, name: string, value: string): number {
  const search = new SearchIndex(store, () => 0);
  const clauses = [FILTERS[name]?.compile([value], search.context, () => [])].flat().map((meaning) => ({ ...meaning, exclude: false }));
  return search.find({ clauses, sort: 'relevance', descending: true, after: null, limit: 1 }).total;
}

/** A store with one person at one company. */
function fill(store: Store, codes: Readonly<Record<string, readonly string[]>>): void {
  loadCompanies(store, [{ domain: 'acme.example', ...codes }], 'test');
  loadPeople(store, [{ email: 'ada@acme.example', company_domain: 'acme.example' }], 'test');
}

it('a code finds by its first 2 to 8 digits, and by no others', async () => {
  const digits = fc.stringMatching(/^\d{2,9}$/);
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...FIELDS), fc.array(digits, { minLength: 1, maxLength: 3 }), fc.stringMatching(/^\d{2,8}$/), async (field, codes, other) => {
      const store = await emptyStore();
      fill(store, { [field]: codes });
      for (const code of codes) for (let length = 2; length <= Math.min(8, code.length); length++) expect(found(store, field, code.slice(0, length))).toBe(1);
      expect(found(store, field, other)).toBe(Number(codes.some((code) => code.startsWith(other))));
      store.close();
    }),
    { numRuns: 30 },
  );
});

it('a code that is written with hyphens finds by its digits', async () => {
  const store = await emptyStore();
  fill(store, { sic: ['7371-0301'] });
  expect(['73710301', '73710', '7371'].map((value) => found(store, 'sic', value))).toEqual([1, 1, 1]);
  store.close();
});

it.each(['5', '541511001', '54a', 'retail', '54-15', '٥٤'])('%s is no code', (value) => {
  for (const field of FIELDS) expect(() => FILTERS[field]?.compile([value], {} as never, () => [])).toThrow(BadValue);
});

it('a store of before finds by longer codes once it is opened, and its shorter ones are left as they are', async () => {
  const path = `${await temporaryFolder()}/older.sqlite`;
  const old = openStore(path);
  fill(old, { naics: ['54', '54151100'], sic: ['7371'] });
  loadCompanies(old, [{ domain: 'short.example', naics: ['541511', '54'], sic: ['7371'] }], 'test');
  // As it was found: by six digits at most, and one by a term of its own.
  old.exec("UPDATE company_terms SET term = 'was:' || term WHERE term IN ('naics=5415110', 'naics=54151100')");
  const termsOf = (store: Store, domain: string): unknown => store.prepare('SELECT terms FROM companies WHERE domain = ?').get(domain)?.['terms'];
  const before = termsOf(old, 'short.example');
  expect(found(old, 'naics', '54151100')).toBe(0);
  backTo(old, 15);
  old.close();
  const store = openStore(path);
  expect(['54151100', '5415110', '541511', '54'].map((value) => found(store, 'naics', value))).toEqual([1, 1, 1, 1]);
  expect(termsOf(store, 'short.example')).toEqual(before);
  store.close();
});
