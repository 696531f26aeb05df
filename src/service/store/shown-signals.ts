/** The signals that a company's record shows: kept with the company, because each of them stands on a page of its own. */
import type { SparseRecord } from '../records.ts';
import { signalOfCompany } from './signal-feed.ts';
import type { Store } from './store.ts';

/** The newest; all of them are at /v1/signals. */
const SIGNALS_SHOWN = 10;

/** The newest signals of a company, by all its domains. @param more a condition that they meet, too */
export function newestSignals(store: Store, limit: number, more = 'true'): (domains: readonly string[]) => SparseRecord[] {
  const newest = store.prepare(`SELECT doc, occurred_at, seq FROM signals WHERE company_domain = ? AND ${more} ORDER BY occurred_at DESC, seq DESC LIMIT ${limit}`);
  const after = (row: Readonly<Record<string, unknown>>, other: Readonly<Record<string, unknown>>, column: string): number => (other[column] as number) - (row[column] as number);
  return (domains) => {
    const rows = domains.flatMap((domain) => newest.all(domain)).sort((one, other) => after(one, other, 'occurred_at') || after(one, other, 'seq'));
    return rows.slice(0, limit).map(({ doc }) => JSON.parse(doc as string) as SparseRecord);
  };
}

/** Reads them as the JSON text of a list, by all domains of the company; null when there are none. */
export function shownSignals(store: Store): (domains: readonly string[]) => string | null {
  const newest = newestSignals(store, SIGNALS_SHOWN);
  return (domains) => {
    const docs = newest(domains);
    return docs.length === 0 ? null : JSON.stringify(docs.map(signalOfCompany));
  };
}

/** Part of a migration: those of companies that are there already, by their own domain; the others are a later step. */
export function putShownSignals(store: Store): void {
  const shown = shownSignals(store);
  const keep = store.prepare('UPDATE companies SET shown_signals = ? WHERE domain = ?');
  for (const { domain } of store.prepare('SELECT DISTINCT company_domain AS domain FROM signals').iterate()) keep.run(shown([domain as string]), domain as string);
}
