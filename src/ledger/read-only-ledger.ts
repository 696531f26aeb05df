/** A ledger that is read and never changed: `millrace plan` uses it. Types only. */
import type { LedgerAnswer } from './answer.ts';

export interface LedgerLookup {
  readonly scope: number;
  readonly key: string;
}

export interface ReadOnlyLedger {
  scope(origin: string, step: string, options: string): number;
  /**
   * The answer that a run would get; `asking` where it would ask again, with the ticket of an open promise or without one. On a network,
   * call `fetch` first.
   */
  look(scope: number, key: string): LedgerAnswer | null;
  /** Fetches these lookups together; null when `look` needs no preparation. @throws StorageError */
  readonly fetch: ((lookups: readonly LedgerLookup[]) => Promise<void>) | null;
  close(): Promise<void>;
}
