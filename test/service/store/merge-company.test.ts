import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { SearchIndex } from '../../../src/service/search/search-index.ts';
import { FILTERS } from '../../../src/service/search/filters.ts';
import type { SparseRecord } from '../../../src/service/records.ts';
import { mergeCompany } from '../../../src/service/store/merge-company.ts';
import { merge, type KeptRecord } from '../../../src/service/store/merge.ts';
import { exportRecords } from '../../../src/service/export/export-records.ts';
import { emptyStore, load } from '../loading.ts';

interface Report {
  readonly atMs: number;
  readonly record: SparseRecord;
}

const REPORT = fc.record(
  {
    employees: fc.constantFrom(30, 500), employees_range: fc.constantFrom('11-50', '201-500', '10,000+', 'many'),
    revenue_usd: fc.constantFrom(3e6, 12e6), revenue: fc.constantFrom('$3M', '$12M', '$1M-$5M'), revenue_range: fc.constantFrom('$1M-$5M', '$10M-$50M'), name: fc.constantFrom('A', 'B'),
  },
  { requiredKeys: [] },
);
const REPORTS = fc.uniqueArray(fc.record({ atMs: fc.nat(9), record: REPORT }), { selector: ({ atMs }) => atMs, minLength: 1, maxLength: 6 });

/** What is kept after these reports; each passes through what the store holds of it. */
function kept(reports: readonly Report[]): KeptRecord {
  const merged = reports.reduce<KeptRecord | null>((before, { record, atMs }) => {
    const from = { source: 1, atMs };
    const after = before === null ? merge(null, { domain: 'a.example', ...record }, from).record : mergeCompany(before, record, from).record;
    return JSON.parse(JSON.stringify(after)) as KeptRecord;
  }, null);
  if (merged === null) throw new Error('no reports');
  return merged;
}

it('keeps the same of what contradicts itself whatever the order, and all that does not', () => {
  fc.assert(
    fc.property(REPORTS.chain((reports) => fc.tuple(fc.constant(reports), fc.shuffledSubarray(reports, { minLength: reports.length }))), ([reports, shuffled]) => {
      const one = kept(reports).doc;
      expect(kept(shuffled).doc).toEqual(one);
      expect(kept([...reports, ...shuffled]).doc).toEqual(one);
      // The newest that is said of each field, contradicted or not.
      const newest = [...reports].sort((first, second) => first.atMs - second.atMs).reduce<SparseRecord>((all, { record }) => ({ ...all, ...record }), {});
      expect(newest).toMatchObject(Object.fromEntries(Object.entries(one).filter(([field]) => field !== 'domain')));
    }),
    { numRuns: 1_000 },
  );
});

const OLD = { employees: 500, revenue: '$12M', revenue_usd: 12e6 };

it.each<[SparseRecord, SparseRecord]>([
  [{ employees_range: '11-50' }, { employees_range: '11-50', revenue: '$12M', revenue_usd: 12e6 }],
  [{ employees_range: '201-500' }, { ...OLD, employees_range: '201-500' }],
  [{ revenue_range: '$1M-$5M' }, { employees: 500, revenue_range: '$1M-$5M' }],
  [{ revenue: '$1M-$5M' }, { employees: 500, revenue: '$1M-$5M' }],
  [{ revenue_range: '$10M-$50M' }, { ...OLD, revenue_range: '$10M-$50M' }],
])('what an older row says goes where a newer one contradicts it: %j', (newer, expected) => {
  const reports = [{ atMs: 1, record: OLD }, { atMs: 2, record: newer }];
  for (const order of [reports, [...reports].reverse()]) expect(kept(order).doc).toEqual({ domain: 'a.example', ...expected });
  // And the other way round.
  const { domain: _domain, ...left } = kept([{ atMs: 2, record: OLD }, { atMs: 1, record: newer }]).doc;
  expect(left).toMatchObject(OLD);
});

it('is found by what it says, and not by what was contradicted', async () => {
  const store = await emptyStore();
  const columns = ['Domain', '# Employees', 'Annual Revenue', 'Last Modified'];
  const rows = [['acme.example', '500', '$12M', '2026-01-01'], ['acme.example', '11-50', '$1M-$5M', '2026-01-10']];
  await load(store, [['Email', 'Name'], ['a@acme.example', 'A B']]);
  for (const row of [...rows, ...rows]) await load(store, [columns, row], { kind: 'companies' });
  expect([...exportRecords(store, 'companies', false)]).toMatchObject([{ employees_range: '11-50', revenue: '$1M-$5M' }]);
  expect([...exportRecords(store, 'companies', true)].flatMap((record) => Object.keys(record))).not.toContain('employees');
  const search = new SearchIndex(store, () => 0);
  for (const [filter, value] of [['headcount', '500-500'], ['revenue', '12M-12M']] as const) {
    const meaning = FILTERS[filter]?.compile([value], search.context, () => []) ?? [];
    expect(search.find({ clauses: [meaning].flat().map((one) => ({ ...one, exclude: false })), sort: 'relevance', descending: true, after: null, limit: 1 }).total).toBe(0);
  }
  store.close();
});
