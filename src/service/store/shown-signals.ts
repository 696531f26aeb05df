/** The signals that a company's record shows: kept with the company, because each of them stands on a page of its own. */
import type { SparseRecord } from '../records.ts';
import { signalOfCompany } from './signal-feed.ts';
import type { Store } from './store.ts';

/** The newest; all of them are at /v1/signals. */
const SIGNALS_SHOWN = 10;

/** Reads them as the JSON text of a list; null when there are none. */
export function shownSignals(store: Store): (domain: string) => string | null {
  const newest = store.prepare(`SELECT doc FROM signals WHERE company_domain = ? ORDER BY occurred_at DESC, seq DESC LIMIT ${SIGNALS_SHOWN}`);
  return (domain) => {
    const rows = newest.all(domain);
    return rows.length === 0 ? null : JSON.stringify(rows.map(({ doc }) => signalOfCompany(JSON.parse(doc as string) as SparseRecord)));
  };
}

/** Part of a migration: those of companies that are there already. */
export function putShownSignals(store: Store): void {
  const shown = shownSignals(store);
  const keep = store.prepare('UPDATE companies SET shown_signals = ? WHERE domain = ?');
  for (const { domain } of store.prepare('SELECT DISTINCT company_domain AS domain FROM signals').iterate()) keep.run(shown(domain as string), domain as string);
}
