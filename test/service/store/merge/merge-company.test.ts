import * as fc from '../../../support/fast-check.ts';
import { expect, it } from 'vitest';
import { QueryEngine } from '../../../../src/service/search/query-engine.ts';
import { FILTERS } from '../../../../src/service/search/filters.ts';
import type { SparseRecord } from '../../../../src/service/records/whole-record.ts';
import { mergeCompany } from '../../../../src/service/store/merge/merge-company.ts';
import { merge, type MergedRecord } from '../../../../src/service/store/merge/merge.ts';
import { exportRecords } from '../../../../src/service/admin/export/export-records.ts';
import { emptyStore, load } from '../../loading.ts';
import { toEnd } from '../../../support/steps.ts';

interface Report {
  readonly atMs: number;
  readonly record: SparseRecord;
}

const REPORT = fc.record(
  {
    employees: fc.constantFrom(30, 500),
    employees_range: fc.constantFrom('11-50', '201-500', '10,000+', 'many'),
    revenue_usd: fc.constantFrom(3e6, 12e6),
    revenue: fc.constantFrom('$3M', '$12M', '$1M-$5M'),
    revenue_range: fc.constantFrom('$1M-$5M', '$10M-$50M'),
    name: fc.constantFrom('A', 'B'),
  },
  { requiredKeys: [] },
);
const REPORTS = fc.uniqueArray(fc.record({ atMs: fc.nat(9), record: REPORT }), {
  selector: ({ atMs }) => atMs,
  minLength: 1,
  maxLength: 6,
});

/** The record after these reports, each merged into the stored form of the previous result. */
function stored(reports: readonly Report[]): MergedRecord {
  const merged = reports.reduce<MergedRecord | null>((before, { record, atMs }) => {
    const from = { source: 1, atMs };
    const after =
      before === null ? merge(null, { domain: 'a.example', ...record }, from).record : mergeCompany(before, record, from).record;
    return JSON.parse(JSON.stringify(after)) as MergedRecord;
  }, null);
  if (merged === null) throw new Error('no reports');
  return merged;
}

it('contradicting reports merge to the same values in any order, and other values all stay', () => {
  fc.assert(
    fc.property(
      REPORTS.chain((reports) => fc.tuple(fc.constant(reports), fc.shuffledSubarray(reports, { minLength: reports.length }))),
      ([reports, shuffled]) => {
        const one = stored(reports).doc;
        expect(stored(shuffled).doc).toEqual(one);
        expect(stored([...reports, ...shuffled]).doc).toEqual(one);
        // The newest value of each field, contradicted or not.
        const newest = [...reports]
          .sort((first, second) => first.atMs - second.atMs)
          .reduce<SparseRecord>((all, { record }) => ({ ...all, ...record }), {});
        expect(newest).toMatchObject(Object.fromEntries(Object.entries(one).filter(([field]) => field !== 'domain')));
      },
    ),
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
])('a newer row removes the older value that it contradicts: %j', (newer, expected) => {
  const reports = [
    { atMs: 1, record: OLD },
    { atMs: 2, record: newer },
  ];
  for (const order of [reports, [...reports].reverse()]) expect(stored(order).doc).toEqual({ domain: 'a.example', ...expected });
  // In the reverse order too.
  const { domain: _domain, ...left } = stored([
    { atMs: 2, record: OLD },
    { atMs: 1, record: newer },
  ]).doc;
  expect(left).toMatchObject(OLD);
});

it('search finds a company by its shown values, not by contradicted ones', async () => {
  const store = await emptyStore();
  const columns = ['Domain', '# Employees', 'Annual Revenue', 'Last Modified'];
  const rows = [
    ['acme.example', '500', '$12M', '2026-01-01'],
    ['acme.example', '11-50', '$1M-$5M', '2026-01-10'],
  ];
  await load(store, [
    ['Email', 'Name'],
    ['a@acme.example', 'A B'],
  ]);
  for (const row of [...rows, ...rows]) await load(store, [columns, row], { kind: 'companies' });
  expect([...exportRecords(store, 'companies', false)]).toMatchObject([{ employees_range: '11-50', revenue: '$1M-$5M' }]);
  expect([...exportRecords(store, 'companies', true)].flatMap((record) => Object.keys(record))).not.toContain('employees');
  const search = new QueryEngine(store, () => 0);
  for (const [filter, value] of [
    ['headcount', '500-500'],
    ['revenue', '12M-12M'],
  ] as const) {
    const sides = FILTERS[filter]?.parse([value], search.context, () => []) ?? [];
    expect(
      toEnd(
        search.find({
          predicates: [sides].flat().map((one) => ({ ...one, exclude: false })),
          sort: 'relevance',
          descending: true,
          after: null,
          limit: 1,
        }),
      ).total,
    ).toBe(0);
  }
  store.close();
});
