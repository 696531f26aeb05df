/** Background transactions: a busy store is retried for minutes without blocking the thread. Requests use `StoreWrites` instead. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isBusy } from '../../sqlite/busy.ts';
import { transaction } from '../../sqlite/transaction.ts';
import type { Store } from '../store/store.ts';

/** The pause before a retry, milliseconds. */
const TRY_AGAIN_MS = 5;
/** The time limit of retries, milliseconds: longer than any transaction of an import. */
const BUSY_TIMEOUT_MS = 600_000;

export interface WriteOptions {
  readonly store: Store;
  /** Once it returns true, nothing is retried. */
  readonly stopped: () => boolean;
}

/**
 * Runs `work` in one transaction as soon as the store is free, and `written` right after the commit.
 * @throws errors of SQLite; "busy" only after ten minutes, or after the stop
 */
export async function writeWhenFree<T>({ store, stopped }: WriteOptions, work: () => T, written: () => void = () => undefined): Promise<T> {
  const endMs = performance.now() + BUSY_TIMEOUT_MS;
  for (;;) {
    try {
      const result = transaction(store.books, work);
      written();
      return result;
    } catch (error) {
      if (!isBusy(error) || stopped() || performance.now() >= endMs) throw error;
    }
    await sleep(TRY_AGAIN_MS);
  }
}
