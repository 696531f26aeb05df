/** Records of the first schema, put again into the tables of the second. */
import type { SparseRecord } from '../records.ts';
import { companyWriter } from './company-writer.ts';
import type { Put } from './put.ts';
import { IndexWriter } from '../search/index-writer.ts';
import { observedAt } from './observed-at.ts';
import { personWriter } from './person-writer.ts';
import { sourceNumber } from './sources.ts';
import type { Store } from './store.ts';

const SOURCE = 'before sources were kept';

/** Part of a migration: within its transaction. @throws Error when a record that was good is not, which undoes it all. */
export function putAgain(store: Store): void {
  const source = sourceNumber(store, SOURCE);
  const index = new IndexWriter(store);
  const putCompany = companyWriter(store, index);
  const putPerson = personWriter(store, index);
  const check = (put: Put, id: unknown): void => {
    if (put.kind === 'rejected') throw new Error(`${String(id)}: ${put.detail}`);
  };
  for (const { doc } of store.prepare('SELECT doc FROM companies_v1 ORDER BY seq').iterate()) {
    const record = JSON.parse(doc as string) as SparseRecord;
    check(putCompany(record, { source, atMs: observedAt(record) ?? 0 }), record['id']);
  }
  for (const { doc, company_domain: domain } of store.prepare('SELECT doc, company_domain FROM people_v1 ORDER BY seq').iterate()) {
    const record = JSON.parse(doc as string) as SparseRecord;
    check(putPerson({ ...record, company_domain: domain }, { source, atMs: observedAt(record) ?? 0 }), record['id']);
  }
  index.flush();
  store.exec('DROP TABLE people_v1; DROP TABLE companies_v1');
}
