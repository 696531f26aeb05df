import * as fc from '../../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { exportRecords } from '../../../../src/service/admin/export/export-records.ts';
import { parseUsd } from '../../../../src/service/records/money.ts';
import type { SparseRecord } from '../../../../src/service/records/whole-record.ts';
import { casesOf } from '../../../support/sample.ts';
import { SEED } from '../../../support/seed.ts';
import { emptyStore, load } from '../../loading.ts';

/** The company after these rows, and the dropped values of all of them. */
async function stored(rows: readonly SparseRecord[]): Promise<{ company: SparseRecord; dropped: Readonly<Record<string, number>> }> {
  const store = await emptyStore();
  const dropped: Record<string, number> = {};
  for (const row of rows)
    Object.assign(dropped, (await load(store, [{ domain: 'acme.example', ...row }], { kind: 'companies' })).counts.dropped);
  const [company = {}] = [...exportRecords(store, 'companies', false)];
  store.close();
  return { company, dropped };
}

describe('the revenue of a company', () => {
  it.each<[SparseRecord, unknown, unknown, Record<string, number>]>([
    [{ revenue: '$1.2M' }, '$1.2M', 1_200_000, {}],
    [{ revenue: '€ 3.000.000' }, '€ 3.000.000', undefined, {}],
    [{ revenue: '12,000,000' }, '12,000,000', undefined, {}],
    [{ revenue: 12_000_000 }, '12000000', undefined, {}],
    [{ revenue: 12_000_000, currency: 'USD' }, '$12M', 12_000_000, {}],
    [{ revenue: '3.000.000', currency: 'EUR' }, 'EUR 3.000.000', undefined, {}],
    [{ 'Annual Revenue (USD)': '12,000,000' }, '$12M', 12_000_000, {}],
    [{ revenue: '€ 3.000.000', revenue_usd: 1_200_000 }, '$1.2M', 1_200_000, { revenue: 1 }],
    [{ revenue: '$5M', revenue_usd: 1_200_000 }, '$1.2M', 1_200_000, { revenue: 1 }],
    [{ revenue: '$1.21M', revenue_usd: 1_200_000 }, '$1.21M', 1_200_000, {}],
    [{ revenue: '1,200,000', revenue_usd: 1_200_000 }, '$1.2M', 1_200_000, {}],
    [{ revenue_usd: '€3M' }, undefined, undefined, { revenue_usd: 1 }],
  ])('%j is stored as %s and %s dollars', async (row, revenue, usd, dropped) => {
    const { company, dropped: counted } = await stored([row]);
    expect([company['revenue'], company['revenue_usd'], counted]).toEqual([revenue, usd, dropped]);
  });

  it('an amount of investors in another currency is no amount in dollars', async () => {
    const { company, dropped } = await stored([{ funding: { total_usd: '€5M', last_stage: 'seed' } }]);
    expect([company['funding'], dropped]).toMatchObject([{ total_usd: null, last_stage: 'seed' }, { 'funding.total_usd': 1 }]);
  });

  it('whatever reports arrive, in whatever order, no record has two revenues', async () => {
    const report = fc.record(
      {
        revenue: fc.constantFrom('€ 3.000.000', '$1.2M', '12,000,000', '$5M', 'C$9M'),
        revenue_usd: fc.constantFrom(1_200_000, 5_000_000),
        updated_at: fc.constantFrom('2025-01-01', '2025-02-01', '2025-03-01'),
      },
      { requiredKeys: ['updated_at'] },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(report, { minLength: 1, maxLength: 5 }), async (reports) => {
        const { revenue, revenue_usd: usd } = (await stored(reports)).company;
        if (typeof usd !== 'number') return;
        const shown = parseUsd(typeof revenue === 'string' ? revenue : '');
        expect(revenue === undefined || (shown !== null && Math.abs(shown - usd) <= usd * 0.05)).toBe(true);
      }),
      { seed: SEED, numRuns: casesOf(30, 500) },
    );
  });
});
