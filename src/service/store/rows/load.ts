/** Loads complete sets of records, such as the sample: each set in one transaction. */
import type { SparseRecord } from '../../records/whole-record.ts';
import { IndexWriter } from '../index/index-writer.ts';
import { companyWriter } from './company-writer.ts';
import type { Provenance } from '../merge/merge.ts';
import { observedAt } from '../merge/observed-at.ts';
import { personWriter } from './person-writer.ts';
import type { UpsertResult } from './upsert-result.ts';
import { signalWriter } from './signal-writer.ts';
import { sourceId } from './report-sources.ts';
import { transaction } from '../../../sqlite/transaction.ts';
import type { Store } from '../store.ts';
import { isObject } from '../../../util/is-object.ts';

interface LoadCount {
  readonly loaded: number;
  /** Records without an identity, and suppressed people. */
  readonly rejected: number;
}

/** Upserts companies by domain. */
export function loadCompanies(store: Store, companies: Iterable<SparseRecord>, source: string): LoadCount {
  return load(store, companies, source, companyWriter);
}

/** Upserts people. `company_domain` is the employer. */
export function loadPeople(store: Store, people: Iterable<SparseRecord>, source: string): LoadCount {
  return load(store, people, source, personWriter);
}

/** Upserts signals. */
export function loadSignals(store: Store, signals: Iterable<SparseRecord>, source: string): LoadCount {
  return load(store, signals, source, (open, index) => {
    const put = signalWriter(open, index);
    return (signal, { atMs }) => put(signal, atMs);
  });
}

/** Parses JSON lines. @throws SyntaxError that names the line without a JSON object */
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
    if (!isObject(value)) throw new SyntaxError(`${name}, line ${line}: no JSON object`);
    yield value;
  }
}

function load(
  store: Store,
  records: Iterable<SparseRecord>,
  name: string,
  writer: (store: Store, index: IndexWriter) => (record: SparseRecord, from: Provenance) => UpsertResult,
): LoadCount {
  return transaction(store, () => {
    const index = new IndexWriter(store);
    const put = writer(store, index);
    const source = sourceId(store, name);
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
