import * as fc from '../../../support/fast-check.ts';
import { expect, it } from 'vitest';
import { rowMapperOf } from '../../../../src/service/admin/import/map-row.ts';
import { rowNormaliser } from '../../../../src/service/admin/import/normalise-rows.ts';
import type { SparseRecord } from '../../../../src/service/records/whole-record.ts';
import type { Store } from '../../../../src/service/store/store.ts';
import { casesOf } from '../../../support/sample.ts';
import { SEED } from '../../../support/seed.ts';
import { emptyStore, load } from '../../loading.ts';

/** The rows of people and companies. The numbers of their terms depend on the transactions that made them. */
function rowsOf(store: Store): unknown {
  const tables = ['people', 'companies', 'other_addresses', 'domain_aliases'];
  return tables.map((table) =>
    store
      .prepare(`SELECT * FROM ${table}`)
      .all()
      .map(({ terms: _numbers, ...row }) => row),
  );
}

const company = fc.record(
  {
    domain: fc.constantFrom('acme.example', 'bolt.example'),
    name: fc.constantFrom('Acme', 'Bolt', 'ACME Inc.'),
    id: fc.constantFrom('co_1', 'co_2'),
    employees: fc.constantFrom(11, '11-50', 'many'),
    revenue: fc.constantFrom('$1M', '€ 3M'),
    domain_aliases: fc.constantFrom(['alias.example'], ['other.example']),
    hq: fc.constantFrom({ country: 'Deutschland' }, { city: 'Oslo' }),
    technologies: fc.constantFrom([{ name: 'Go', first_seen_on: '2020' }], [{ name: 'Go', first_seen_on: 'soon' }]),
    updated_at: fc.constantFrom('2025-01-05', '2025-01-20'),
  },
  { requiredKeys: ['domain'] },
);

it('rows that repeat a company give the same store as rows that are imported one by one', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(company, { minLength: 1, maxLength: 3 }),
      fc.array(fc.record({ which: fc.nat(5), person: fc.nat(4), day: fc.option(fc.integer({ min: 10, max: 19 })) }), {
        minLength: 1,
        maxLength: 12,
      }),
      async (companies, picks) => {
        const rows = picks.map(({ which, person, day }): SparseRecord => ({
          email: `p${person}@acme.example`,
          name: `Person ${person}`,
          company: companies[which % companies.length],
          ...(day === null ? {} : { updated_at: `2025-01-${day}` }),
        }));
        const [together, alone] = [await emptyStore(), await emptyStore()];
        const { counts } = await load(together, rows, { asOf: null });
        const dropped: Record<string, number> = {};
        const changed = { added: 0, updated: 0 };
        for (const row of rows) {
          const { counts: one } = await load(alone, [row], { asOf: null });
          for (const [path, count] of Object.entries(one.dropped)) dropped[path] = (dropped[path] ?? 0) + count;
          for (const name of ['added', 'updated'] as const) changed[name] += one.companies[name];
        }
        expect(rowsOf(together)).toEqual(rowsOf(alone));
        expect([counts.dropped, counts.companies]).toEqual([dropped, changed]);
        together.close();
        alone.close();
      },
    ),
    { seed: SEED, numRuns: casesOf(40, 1_000) },
  );
}, 300_000);

it('a company that rows repeat is once in a batch, with the time of each row', () => {
  const normaliser = rowNormaliser({
    kind: 'contacts',
    header: [],
    mapper: rowMapperOf('contacts', new Map()),
    asOfMs: null,
    nowMs: Date.parse('2026-06-01'),
    expectsNew: () => true,
  });
  const batchOf = (days: readonly string[], name = 'Acme'): readonly (readonly unknown[])[] => {
    for (const [at, day] of days.entries())
      normaliser.add({
        line: at + 1,
        cells: null,
        object: { email: `p${at}@acme.example`, updated_at: day, company: { domain: 'acme.example', name } },
        bad: null,
        surplus: false,
        size: 100,
      });
    const { rows, texts } = normaliser.take();
    return [
      ...rows.map((row) => (row.kind === 'contact' ? [row.company?.textFrom, row.company?.atMs] : [])),
      [Buffer.from(texts).toString().split(name).length - 1],
    ];
  };
  const [first, second, third, [copies] = []] = batchOf(['2025-01-01', '2025-01-02', '2025-01-01']);
  expect([first?.[0], second?.[0], third?.[0], copies]).toEqual([first?.[0], first?.[0], first?.[0], 1]);
  expect([first?.[1], second?.[1]].map((ms) => new Date(ms as number).getUTCDate())).toEqual([1, 2]);
  expect(batchOf(['2025-01-03', '2025-01-03']).at(-1)).toEqual([1]);
  expect(batchOf(['2025-01-03', '2025-01-03'], 'Acme Inc.').at(-1)).toEqual([1]);
});
