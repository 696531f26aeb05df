/** The operations on a whole ledger. Types only. */
import type { Purged, PurgeFilter } from './purge.ts';
import type { LedgerStats } from './stats.ts';

export interface LedgerContents {
  /** @param maxAgeDays 0 for any age, as within one job */
  stats(options: { maxAgeDays: number; now: number }): Promise<LedgerStats>;
  /** Removes answers. Every working copy is rebuilt before its next use. */
  purge(filter: PurgeFilter): Promise<Purged>;
  close(): void;
}
