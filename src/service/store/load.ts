/** Whole sets of records of the definitions' shape into the store, such as the sample: each kind in one transaction. */
import type { SparseRecord } from '../records.ts';
import { IndexWriter } from '../search/index-writer.ts';
import { companyWriter } from './company-writer.ts';
import type { Provenance } from './merge.ts';
import { observedAt } from './observed-at.ts';
import { personWriter } from './person-writer.ts';
import type { Put } from './put.ts';
import { signalWriter } from './signal-writer.ts';
import { sourceNumber } from './sources.ts';
import { transaction } from '../../sqlite/transaction.ts';
import type { Store } from './store.ts';

export interface LoadCount {
  readonly loaded: number;
  /** Records without what identifies them, and people who are suppressed. */
  readonly rejected: number;
}

/** Companies by domain: one that is there already is merged. */
export function loadCompanies(store: Store, companies: Iterable<SparseRecord>, source: string): LoadCount {
  return load(store, companies, source, companyWriter);
}

/** People by what they are known by: one who is there already is merged. `company_domain` says where one works. */
export function loadPeople(store: Store, people: Iterable<SparseRecord>, source: string): LoadCount {
  return load(store, people, source, personWriter);
}

/** Signals by id. */
export function loadSignals(store: Store, signals: Iterable<SparseRecord>, source: string): LoadCount {
  return load(store, signals, source, (open, index) => {
    const put = signalWriter(open, index);
    return (signal, { atMs }) => put(signal, atMs);
  });
}

/** The records of a JSON-lines text. @throws SyntaxError naming the line that is no JSON object. */
export function* parseJsonLines(jsonl: string, name: string): Generator<SparseRecord> {
  let line = 0;
  for (const entry of jsonl.split('\n')) {
    line++;
    if (entry.trim() === '') continue;
    let value: unknown;
    try {
      value = JSON.parse(entry);
    } catch (error) {
      throw new SyntaxError(`${name}, line ${line}: no JSON`, { cause: error });
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new SyntaxError(`${name}, line ${line}: no JSON object`);
    yield value as SparseRecord;
  }
}

function load(store: Store, records: Iterable<SparseRecord>, name: string, writer: (store: Store, index: IndexWriter) => (record: SparseRecord, from: Provenance) => Put): LoadCount {
  return transaction(store, () => {
    const index = new IndexWriter(store);
    const put = writer(store, index);
    const source = sourceNumber(store, name);
    let loaded = 0;
    let rejected = 0;
    for (const record of records) {
      if (put(record, { source, atMs: observedAt(record) ?? 0 }).kind === 'put') loaded++;
      else rejected++;
    }
    index.flush();
    return { loaded, rejected };
  });
}
