import { expect, it } from 'vitest';
import type { SparseRecord } from '../../../../src/service/records/whole-record.ts';
import { IndexWriter } from '../../../../src/service/store/index/index-writer.ts';
import { companyWriter } from '../../../../src/service/store/rows/company-writer.ts';
import { loadSignals } from '../../../../src/service/store/rows/load.ts';
import { transaction } from '../../../../src/sqlite/transaction.ts';
import { emptyStore } from '../../loading.ts';

it('an alias moves its signals, and their filter columns, to each company that claims it in turn', async () => {
  const store = await emptyStore();
  loadSignals(store, [{ id: 'sg_1', type: 'funding', domain: 'other.example', occurred_at: '2026-01-01' }], 'test');
  // One index writer for all transactions, as in an import.
  const index = new IndexWriter(store);
  const put = companyWriter(store, index);
  let day = 0;
  const tell = (record: SparseRecord): void =>
    transaction(store, () => {
      put(record, { source: 1, atMs: ++day * 86_400_000 });
      index.flush();
    });
  const shown = (): unknown =>
    store
      .prepare("SELECT domain FROM companies WHERE shown_signals LIKE '%sg_1%'")
      .all()
      .map(({ domain }) => domain);
  const industry = (): unknown => store.prepare('SELECT industry FROM signals').get()?.['industry'];
  const domains = ['a.example', 'b.example', 'c.example'];
  for (const domain of domains) {
    tell({ domain, industry: `Of ${domain}`, domain_aliases: ['other.example'] });
    expect([shown(), industry()]).toEqual([[domain], `of ${domain}`]);
    // A new record without aliases.
    tell({ domain, industry: `Still of ${domain}` });
    expect([shown(), industry()]).toEqual([[domain], `still of ${domain}`]);
    // Two companies claim it.
    tell({ domain: 'rival.example', domain_aliases: ['other.example'] });
    expect([shown(), industry()]).toEqual([[], null]);
    for (const one of [domain, 'rival.example']) tell({ domain: one, domain_aliases: ['none.example'] });
  }
  store.close();
});
