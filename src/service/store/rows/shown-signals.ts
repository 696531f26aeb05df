/** The signals in a company's record. They are stored with the company, because reading them from `signals` takes a page each. */
import type { SparseRecord } from '../../records/whole-record.ts';
import { companySignal } from './signal-feed.ts';
import type { Store } from '../store.ts';

/** The newest ones; /v1/signals has all. */
const SIGNALS_SHOWN = 10;

/** The newest signals over all domains of a company. @param more a further SQL condition */
export function newestSignals(store: Store, limit: number, more = 'true'): (domains: readonly string[]) => SparseRecord[] {
  const newest = store.prepare(
    `SELECT doc, occurred_at, seq FROM signals WHERE company_domain = ? AND ${more} ORDER BY occurred_at DESC, seq DESC LIMIT ${limit}`,
  );
  const after = (row: Readonly<Record<string, unknown>>, other: Readonly<Record<string, unknown>>, column: string): number =>
    (other[column] as number) - (row[column] as number);
  return (domains) => {
    const rows = domains
      .flatMap((domain) => newest.all(domain))
      .sort((one, other) => after(one, other, 'occurred_at') || after(one, other, 'seq'));
    return rows.slice(0, limit).map(({ doc }) => JSON.parse(doc as string) as SparseRecord);
  };
}

/** Reads them as a JSON list, over all domains of the company; null if there are none. */
export function shownSignals(store: Store): (domains: readonly string[]) => string | null {
  const newest = newestSignals(store, SIGNALS_SHOWN);
  return (domains) => {
    const docs = newest(domains);
    return docs.length === 0 ? null : JSON.stringify(docs.map(companySignal));
  };
}
