import * as fc from '../../../support/fast-check.ts';
import { expect, it } from 'vitest';
import { EmployerWriter } from '../../../../src/service/admin/import/employer-writer.ts';
import type { NormalisedBatch } from '../../../../src/service/admin/import/normalise-rows.ts';
import { rowNormaliser } from '../../../../src/service/admin/import/normalise-rows.ts';
import { rowMapperOf } from '../../../../src/service/admin/import/map-row.ts';
import { IndexWriter } from '../../../../src/service/store/index/index-writer.ts';
import { openStore } from '../../../../src/service/store/open-store.ts';
import { normalisedCompanyWriter } from '../../../../src/service/store/rows/company-writer.ts';
import { loadCompanies } from '../../../../src/service/store/rows/load.ts';
import { sourceId } from '../../../../src/service/store/rows/report-sources.ts';
import type { NormalisedCompany } from '../../../../src/service/store/rows/normalised-company.ts';
import type { Store } from '../../../../src/service/store/store.ts';
import { casesOf } from '../../../support/sample.ts';
import { copyStore } from '../../harness.ts';
import { emptyStore } from '../../loading.ts';

const REPORTS = [
  { domain: 'acme.example', name: 'Acme' },
  { domain: 'acme.example', name: 'Acme Inc.', industry: 'Retail' },
  { domain: 'bolt.example', name: 'Bolt', employees: 11 },
];

/** Batches of rows at these companies on these days. Equal reports have the same number in all batches. */
function batchesOf(): (picks: readonly { readonly report: number; readonly day: number }[]) => {
  readonly batch: NormalisedBatch;
  readonly companies: readonly NormalisedCompany[];
} {
  const normaliser = rowNormaliser({
    kind: 'contacts',
    header: [],
    mapper: rowMapperOf('contacts', new Map()),
    asOfMs: null,
    nowMs: Date.parse('2026-06-01'),
    expectsNew: () => true,
  });
  let line = 0;
  return (picks) => {
    for (const { report, day } of picks) {
      line++;
      normaliser.add({
        line,
        cells: null,
        object: { email: `p${line}@acme.example`, updated_at: `2025-01-${day}`, company: { ...REPORTS[report] } },
        bad: null,
        surplus: false,
        size: 100,
      });
    }
    const batch = normaliser.take();
    return { batch, companies: batch.rows.flatMap((row) => (row.kind === 'contact' && row.company !== null ? [row.company] : [])) };
  };
}

const rowsOf = (store: Store): unknown =>
  store.prepare('SELECT domain, id, doc, observed_at, source, field_sources FROM companies ORDER BY domain').all();

const pick = fc.record({ report: fc.nat(REPORTS.length - 1), day: fc.integer({ min: 10, max: 14 }) });
const step = fc.oneof(
  fc.record({ rows: fc.array(pick, { maxLength: 4 }), commits: fc.boolean() }),
  fc.record({ other: fc.nat(REPORTS.length - 1), day: fc.integer({ min: 10, max: 14 }), removes: fc.boolean() }),
);

it('companies of rows in many batches are stored as if each was stored by itself, also where others write between', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
      const path = await copyStore(() => undefined);
      const [together, other, alone] = [openStore(path), openStore(path), await emptyStore()];
      const writerOf = (store: Store) => {
        const index = new IndexWriter(store);
        return { index, put: normalisedCompanyWriter(store, index), source: sourceId(store, 'rows') };
      };
      const [mine, plain] = [writerOf(together), writerOf(alone)];
      const writer = new EmployerWriter(together, mine.put, mine.source);
      const commit = (): void => {
        if (!together.isTransaction) return;
        writer.flush();
        mine.index.flush();
        together.exec('COMMIT');
      };
      const next = batchesOf();
      for (const one of steps) {
        if ('other' in one) {
          commit();
          const { domain } = REPORTS[one.other] ?? { domain: 'acme.example' };
          const report = { domain, name: 'Another', updated_at: `2025-01-${one.day}` };
          for (const store of [other, alone])
            if (one.removes) store.prepare('DELETE FROM companies WHERE domain = ?').run(domain);
            else loadCompanies(store, [report], 'other');
          continue;
        }
        const { batch, companies } = next(one.rows);
        if (!together.isTransaction) together.exec('BEGIN IMMEDIATE');
        alone.exec('BEGIN IMMEDIATE');
        for (const company of companies) {
          writer.put(company, batch);
          plain.put(company, plain.source, { terms: batch.companyTerms, texts: batch.texts });
        }
        plain.index.flush();
        alone.exec('COMMIT');
        if (one.commits) commit();
      }
      commit();
      expect(rowsOf(together)).toEqual(rowsOf(alone));
      for (const store of [together, other, alone]) store.close();
    }),
    { numRuns: casesOf(40, 600) },
  );
}, 120_000);

it('a company that another process has removed since is stored again', async () => {
  const path = await copyStore(() => undefined);
  const [store, other] = [openStore(path), openStore(path)];
  const index = new IndexWriter(store);
  const writer = new EmployerWriter(store, normalisedCompanyWriter(store, index), sourceId(store, 'rows'));
  const next = batchesOf();
  const put = (): void => {
    const { batch, companies } = next([{ report: 0, day: 10 }]);
    store.exec('BEGIN IMMEDIATE');
    for (const company of companies) writer.put(company, batch);
    writer.flush();
    index.flush();
    store.exec('COMMIT');
  };
  put();
  other.exec('DELETE FROM companies');
  put();
  expect(rowsOf(store)).toMatchObject([{ domain: 'acme.example' }]);
  for (const one of [store, other]) one.close();
});

it('a report that many batches repeat is written once, and its newest time once a transaction', async () => {
  const store = await emptyStore();
  const written: number[] = [];
  const writer = new EmployerWriter(
    store,
    (company) => {
      written.push(new Date(company.atMs).getUTCDate());
      return { kind: 'put', change: 'new', dropped: [] };
    },
    1,
  );
  const next = batchesOf();
  for (const day of [10, 12, 11, 14, 13]) {
    const { batch, companies } = next([{ report: 0, day }]);
    for (const company of companies) writer.put(company, batch);
  }
  expect(written).toEqual([10]);
  writer.flush();
  writer.flush();
  expect(written).toEqual([10, 14]);
  store.close();
});
