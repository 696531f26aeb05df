/** Transactions for work that can wait: a store that another process writes to is tried again without keeping the thread. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isBusy } from '../../sqlite/busy.ts';
import { transaction } from '../../sqlite/transaction.ts';
import { ServiceError } from '../errors.ts';
import { UNWRITTEN_RETRY_S } from '../owing.ts';
import type { Store } from '../store/store.ts';

const TRY_AGAIN_MS = 5;

/**
 * Runs `work` in one transaction as soon as the store is free, and `written` right after it was committed.
 * @param patienceMs after which it is given up @throws ServiceError when the store is busy for that long; whatever else SQLite says
 */
export async function writeWhenFree<T>(store: Store, patienceMs: number, work: () => T, written: () => void = () => undefined): Promise<T> {
  const endMs = performance.now() + patienceMs;
  for (;;) {
    try {
      const result = transaction(store, work);
      written();
      return result;
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (performance.now() >= endMs) throw new ServiceError('overloaded', 'the store is busy; send the same request again', { headers: { 'retry-after': UNWRITTEN_RETRY_S } });
    }
    await sleep(TRY_AGAIN_MS, undefined, { ref: false });
  }
}
