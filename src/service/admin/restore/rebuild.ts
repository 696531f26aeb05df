/** Fills the derived tables from the records: keys of people, aliases, and the search index. */
import { transaction } from '../../../sqlite/transaction.ts';
import type { SparseRecord } from '../../records/whole-record.ts';
import { IndexWriter } from '../../store/index/index-writer.ts';
import { TermCollector } from '../../store/index/term-table.ts';
import { textOrNull } from '../../http/values.ts';
import { domainAliasWriter } from '../../store/identity/domain-aliases.ts';
import { otherAddressesOf } from '../../store/identity/other-addresses.ts';
import { otherNumbersOf, otherNumberWriter } from '../../store/identity/other-numbers.ts';
import { storedPerson } from '../../store/rows/person-writer.ts';
import { sortKeysOf, termsOf } from '../../store/rows/normalised-person.ts';
import { SharedKeys } from '../../store/identity/shared-keys.ts';
import type { Store } from '../../store/store.ts';

type Row = Readonly<Record<string, unknown>>;

/** Rows in a transaction; the index collects its changes in memory until then. */
const ROWS_AT_ONCE = 8_192;

/** Fills the derived tables, which are empty. `pause` is awaited between transactions. */
export async function rebuild(store: Store, pause: () => Promise<void>): Promise<void> {
  const index = new IndexWriter(store);
  const writeAliases = domainAliasWriter(store, index);
  // Before the companies, whose signals depend on all their domains.
  await eachRow(store, 'companies', index, pause, ({ domain, doc }) =>
    writeAliases(domain as string, JSON.parse(doc as string) as SparseRecord),
  );
  await eachRow(store, 'companies', index, pause, ({ domain }) => index.company(domain as string));
  await eachRow(store, 'people', index, pause, personIndexer(store, index));
  // Keys of signals that are lost.
  transaction(store, () => store.exec('DELETE FROM signal_keys WHERE NOT EXISTS (SELECT 1 FROM signals WHERE seq = signal)'));
  transaction(store.books, () =>
    store.books.exec(
      'DELETE FROM batch_bytes; INSERT INTO batch_bytes (key_id, bytes) SELECT ' +
        'key_id, sum(bytes) FROM batch_files JOIN batches ON seq = batch GROUP BY key_id',
    ),
  );
}

async function eachRow(
  store: Store,
  table: string,
  index: IndexWriter,
  pause: () => Promise<void>,
  write: (row: Row) => void,
): Promise<void> {
  const next = store.prepare(`SELECT * FROM ${table} WHERE seq > ? ORDER BY seq LIMIT ${ROWS_AT_ONCE}`);
  for (let rows: Row[] = next.all(0); rows.length > 0; rows = next.all(rows.at(-1)?.['seq'] as number)) {
    const some = rows;
    transaction(store, () => {
      some.forEach(write);
      index.flush();
    });
    await pause();
  }
}

function personIndexer(store: Store, index: IndexWriter): (row: Row) => void {
  const storeTerms = store.prepare('INSERT INTO person_term_lists (person, terms) VALUES (?, ?)');
  const [addresses, keys] = [new SharedKeys(store, 'other_addresses', index), new SharedKeys(store, 'other_keys', index)];
  const putNumbers = otherNumberWriter(store);
  const collector = new TermCollector();
  return (row) => {
    const seq = row['seq'] as number;
    const stored = storedPerson(row);
    const { company_domain: employer, ...doc } = stored.doc;
    addresses.put(seq, otherAddressesOf(doc));
    keys.put(seq, stored.mergeState?.keys ?? []);
    putNumbers(seq, otherNumbersOf(doc), true);
    const span = collector.add(termsOf(doc, stored.base.atMs));
    storeTerms.run(seq, index.person(seq, null, collector.take(), span, textOrNull(employer), sortKeysOf(stored)));
  };
}
