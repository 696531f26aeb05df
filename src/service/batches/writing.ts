/** Transactions of work on jobs, for which no request waits: a store that another process writes to is tried again without keeping the thread. Requests write by `StoreWrites`. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isBusy } from '../../sqlite/busy.ts';
import { transaction } from '../../sqlite/transaction.ts';
import type { Store } from '../store/store.ts';

const TRY_AGAIN_MS = 5;
/** Longer than an import has the store at a time; what is given up after it is done anew. */
const PATIENCE_MS = 600_000;

export interface Writing {
  readonly store: Store;
  /** Nothing more is to be written. */
  readonly stopped: () => boolean;
}

/** Runs `work` in one transaction as soon as the store is free, and `written` right after it was committed. @throws what SQLite says; that the store is busy only after ten minutes, or when it is to stop */
export async function writeWhenFree<T>({ store, stopped }: Writing, work: () => T, written: () => void = () => undefined): Promise<T> {
  const endMs = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      const result = transaction(store, work);
      written();
      return result;
    } catch (error) {
      if (!isBusy(error) || stopped() || performance.now() >= endMs) throw error;
    }
    await sleep(TRY_AGAIN_MS);
  }
}
