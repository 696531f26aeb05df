/** Changes that are asked for by a call and are in the store before it is answered. They share the journal's transactions, and wait as an answer that costs something does. */
import { isOfStore } from '../sqlite/busy.ts';
import { PAID_WAITS_MS } from './owing.ts';
import type { Journal, Part, Pending } from './store/journal.ts';
import type { Store } from './store/store.ts';
import { damaged, unwritten } from './unwritten.ts';

interface Change {
  readonly work: () => unknown;
  /** What it came to in the transaction that was tried last. */
  outcome: { readonly value: unknown } | { readonly failure: unknown } | null;
}

export class StoreWrites implements Pending {
  readonly #store: Store;
  readonly #journal: Journal;
  readonly #changes = new Set<Change>();

  constructor(store: Store, journal: Journal) {
    this.#store = store;
    this.#journal = journal;
    journal.join(this, 'changes');
  }

  /**
   * Resolves with what `work` returned, once it is in the store. It may be run again when the store was busy.
   * @throws what `work` refuses or fails with, and then nothing of it was written; ServiceError when the store would not take it in time, or what it touches is damaged
   */
  async write<T>(work: () => T): Promise<T> {
    const change: Change = { work, outcome: null };
    this.#changes.add(change);
    const written = await this.#journal.written(PAID_WAITS_MS);
    this.#changes.delete(change);
    const { outcome } = change;
    if (!written || outcome === null) throw unwritten(this.#journal.failure, 'changed');
    if ('failure' in outcome) throw outcome.failure;
    return outcome.value as T;
  }

  get size(): number {
    return this.#changes.size;
  }

  flush(): void {
    for (const change of this.#changes) change.outcome = this.#run(change.work);
  }

  flushed(): void {
    this.#changes.clear();
  }

  *parts(): Iterable<Part> {
    for (const change of this.#changes) {
      yield {
        write: () => void (change.outcome = this.#run(change.work)),
        giveUp: () => {
          change.outcome = { failure: damaged() };
          this.#changes.delete(change);
        },
      };
    }
  }

  /** A refusal undoes its own change and no other, and so does a bug, or what is damaged in the store: answers and charges are written with it. */
  #run(work: () => unknown): NonNullable<Change['outcome']> {
    this.#store.exec('SAVEPOINT change');
    try {
      const value = work();
      this.#store.exec('RELEASE change');
      return { value };
    } catch (error) {
      if (isOfStore(error)) throw error;
      this.#store.exec('ROLLBACK TO change; RELEASE change');
      return { failure: error };
    }
  }
}
