import * as fc from '../../../support/fast-check.ts';
import { expect, it } from 'vitest';
import { loadCompanies } from '../../../../src/service/store/rows/load.ts';
import { openDirectory } from '../../../../src/service/store/directory.ts';
import { RowHints } from '../../../../src/service/store/rows/row-hints.ts';
import { emptyStore } from '../../loading.ts';

it('a row hint is the last row stored for its text, or null', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.domain(), fc.integer({ min: 1, max: 2 ** 40 })), { maxLength: 50 }), fc.domain(), (puts, unknown) => {
      const hints = new RowHints();
      const last = new Map<string, number>();
      for (const [domain, row] of puts) {
        hints.put(domain, row);
        last.set(domain, row);
        expect(hints.find(domain)).toBe(row < 2 ** 32 ? row : 0);
      }
      for (const [domain, row] of last) expect([0, row]).toContain(hints.find(domain));
      if (!last.has(unknown)) expect(hints.find(unknown)).toBe(0);
    }),
    { numRuns: 30 },
  );
});

it('a wrong row hint is never trusted: a company is found in its present row', async () => {
  const store = await emptyStore();
  const directory = openDirectory(store);
  const put = (domain: string, name: string): void => {
    loadCompanies(store, [{ domain, name }], 'test');
  };
  const nameOf = (domain: string): unknown => (JSON.parse(directory.companyByDomain(domain) ?? '{}') as { name?: string }).name;
  put('acme.example', 'Acme');
  const seq = (): unknown => store.prepare('SELECT max(seq) AS seq FROM companies').get()?.['seq'];
  const before = seq();
  for (let time = 0; time < 2; time++) expect(nameOf('acme.example')).toBe('Acme');
  store.exec("DELETE FROM companies WHERE domain = 'acme.example'");
  put('other.example', 'Other');
  expect(seq()).toBe(before);
  expect(nameOf('acme.example')).toBeUndefined();
  expect(nameOf('other.example')).toBe('Other');
  put('acme.example', 'Acme again');
  for (let time = 0; time < 2; time++) expect(nameOf('acme.example')).toBe('Acme again');
  store.close();
});
