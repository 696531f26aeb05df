/** What is made of records is made again of them: by what else they are found, and what search looks into. */
import { transaction } from '../../sqlite/transaction.ts';
import type { SparseRecord } from '../records.ts';
import { IndexWriter } from '../search/index-writer.ts';
import { TermCollector } from '../search/term-table.ts';
import { textOrNull } from '../values.ts';
import { aliasPutter } from './domain-aliases.ts';
import { otherAddressesOf } from './other-addresses.ts';
import { otherNumbersOf, otherNumberWriter } from './other-numbers.ts';
import { keptPerson } from './person-writer.ts';
import { sortKeysOf, termsOf } from './prepared-person.ts';
import { SharedKeys } from './shared-keys.ts';
import type { Store } from './store.ts';

type Row = Readonly<Record<string, unknown>>;

/** Rows after which the index is written: what it collects is in memory. */
const ROWS_AT_ONCE = 8_192;

/** Fills the tables that are made of others, which are empty. `pause` is awaited between transactions. */
export async function rebuild(store: Store, pause: () => Promise<void>): Promise<void> {
  const index = new IndexWriter(store);
  const putAliases = aliasPutter(store, index);
  // Before the companies: whose signals a company shows is said by all its domains.
  await eachRow(store, 'companies', index, pause, ({ domain, doc }) => putAliases(domain as string, JSON.parse(doc as string) as SparseRecord));
  await eachRow(store, 'companies', index, pause, ({ domain }) => index.company(domain as string));
  await eachRow(store, 'people', index, pause, personIndexer(store, index));
  // A signal that is lost needs none.
  transaction(store, () => store.exec('DELETE FROM signal_keys WHERE NOT EXISTS (SELECT 1 FROM signals WHERE seq = signal)'));
  transaction(store, () => store.exec('DELETE FROM batch_bytes; INSERT INTO batch_bytes (key_id, bytes) SELECT key_id, sum(bytes) FROM batch_files JOIN batches ON seq = batch GROUP BY key_id'));
}

async function eachRow(store: Store, table: string, index: IndexWriter, pause: () => Promise<void>, put: (row: Row) => void): Promise<void> {
  const next = store.prepare(`SELECT * FROM ${table} WHERE seq > ? ORDER BY seq LIMIT ${ROWS_AT_ONCE}`);
  for (let rows: Row[] = next.all(0); rows.length > 0; rows = next.all(rows.at(-1)?.['seq'] as number)) {
    const some = rows;
    transaction(store, () => {
      some.forEach(put);
      index.flush();
    });
    await pause();
  }
}

function personIndexer(store: Store, index: IndexWriter): (row: Row) => void {
  const keepTerms = store.prepare('INSERT INTO person_term_lists (person, terms) VALUES (?, ?)');
  const [addresses, keys] = [new SharedKeys(store, 'other_addresses', index), new SharedKeys(store, 'other_keys', index)];
  const putNumbers = otherNumberWriter(store);
  const collector = new TermCollector();
  return (row) => {
    const seq = row['seq'] as number;
    const kept = keptPerson(row);
    const { company_domain: employer, ...doc } = kept.doc;
    addresses.put(seq, otherAddressesOf(doc));
    keys.put(seq, kept.aside?.keys ?? []);
    putNumbers(seq, otherNumbersOf(doc), true);
    const span = collector.add(termsOf(doc, kept.base.atMs));
    keepTerms.run(seq, index.person(seq, null, collector.take(), span, textOrNull(employer), sortKeysOf(kept)));
  };
}
