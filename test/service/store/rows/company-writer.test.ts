import * as fc from '../../../support/fast-check.ts';
import { expect, it } from 'vitest';
import { DomainIds } from '../../../../src/service/store/index/domain-ids.ts';
import { loadCompanies } from '../../../../src/service/store/rows/load.ts';
import type { Store } from '../../../../src/service/store/store.ts';
import { casesOf } from '../../../support/sample.ts';
import { emptyStore } from '../../loading.ts';

const DOMAINS = ['a.example', 'b.example', 'c.example', 'd.example'];
const ALIASES = ['e.example', 'f.example'];

const COMPANY = fc.record(
  {
    domain: fc.constantFrom(...DOMAINS),
    id: fc.constantFrom('co_1', 'co_2', 'co_3'),
    name: fc.constantFrom('One', 'Two', 'Three'),
    employees: fc.nat(3),
    industry: fc.constantFrom('Retail', 'Banking'),
    domain_aliases: fc.constantFrom(...ALIASES.map((alias) => [alias])),
    updated_at: fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'),
  },
  { requiredKeys: ['domain', 'updated_at'] },
);

/** The stored companies, and the companies of each search term. */
function stored(store: Store): unknown {
  const rows = store
    .prepare('SELECT domain, id, doc, employees, country, industry, observed_at, absent_fields FROM companies ORDER BY domain')
    .all();
  const terms = store
    .prepare(
      'SELECT term, at % 65536 AS block, hex(bits) AS bits FROM company_terms LEFT JOIN company_postings ON at / 65536 = id ORDER BY term',
    )
    .all();
  return {
    rows,
    terms,
    aliases: store.prepare('SELECT * FROM domain_aliases ORDER BY 1, 2').all(),
    sizes: store.prepare('SELECT * FROM company_sizes').all(),
  };
}

it('a company is stored the same whether the previous one was new or not, and a failed insert leaves nothing', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(COMPANY, { minLength: 1, maxLength: 12 }), async (companies) => {
      const [together, apart] = [await emptyStore(), await emptyStore()];
      // The numbering of other domains does not matter.
      for (const store of [together, apart]) for (const domain of [...DOMAINS, ...ALIASES]) new DomainIds(store).getOrAdd(domain);
      expect(loadCompanies(together, companies, 'test')).toEqual({ loaded: companies.length, rejected: 0 });
      // A separate writer for each company first assumes that it is new.
      for (const company of companies) loadCompanies(apart, [company], 'test');
      expect(stored(together)).toEqual(stored(apart));
      expect(
        together.prepare('SELECT term FROM company_terms WHERE NOT EXISTS (SELECT 1 FROM company_postings WHERE at / 65536 = id)').all(),
      ).toEqual([]);
      together.close();
      apart.close();
    }),
    { numRuns: casesOf(12, 40) },
  );
});
