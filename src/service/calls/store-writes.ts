/**
 * Changes of the store that a request makes, written before its answer is sent. They share the transactions of the journal, and wait as
 * long as a paid answer does.
 */
import { isSqliteError } from '../../sqlite/busy.ts';
import type { Journal, JournalWrite, JournalMember } from '../store/journal.ts';
import type { Store } from '../store/store.ts';
import { storeDamaged, storeUnwritable } from '../accounts/store-refusals.ts';

interface Change {
  readonly work: () => unknown;
  /** The outcome in the last transaction that was tried. */
  outcome: { readonly value: unknown } | { readonly failure: unknown } | null;
}

export class StoreWrites implements JournalMember {
  readonly where = 'changes';
  readonly #store: Store;
  readonly #journal: Journal;
  readonly #changes = new Set<Change>();

  constructor(store: Store, journal: Journal) {
    this.#store = store;
    this.#journal = journal;
    journal.join(this);
  }

  /**
   * Resolves with what `work` returned, once it is in the store. It may be run again when the store was busy.
   * @throws what `work` refuses or fails with, and then nothing of it was written; ServiceError when the store would not take it in time,
   * or what it touches is damaged
   */
  async write<T>(work: () => T): Promise<T> {
    const change: Change = { work, outcome: null };
    this.#changes.add(change);
    const written = await this.#journal.written();
    this.#changes.delete(change);
    const { outcome } = change;
    if (!written || outcome === null) throw storeUnwritable(this.#journal.failure, 'changed');
    if ('failure' in outcome) throw outcome.failure;
    return outcome.value as T;
  }

  get size(): number {
    return this.#changes.size;
  }

  flushed(): void {
    this.#changes.clear();
  }

  *parts(): Iterable<JournalWrite> {
    for (const change of this.#changes) {
      yield {
        write: () => void (change.outcome = this.#run(change.work)),
        giveUp: () => {
          change.outcome = { failure: storeDamaged() };
          this.#changes.delete(change);
        },
      };
    }
  }

  /**
   * A refusal undoes its own change and no other, and so does a bug, or what is damaged in the store: answers and charges are written with
   * it.
   */
  #run(work: () => unknown): NonNullable<Change['outcome']> {
    this.#store.books.exec('SAVEPOINT change');
    try {
      const value = work();
      this.#store.books.exec('RELEASE change');
      return { value };
    } catch (error) {
      if (isSqliteError(error)) throw error;
      this.#store.books.exec('ROLLBACK TO change; RELEASE change');
      return { failure: error };
    }
  }
}
