/** Changes of the rows of API keys that wait for the journal: use, and lower bounds of quotas. A row is written once a transaction. */
import type { Journal, JournalMember, JournalWrite } from '../store/journal.ts';
import type { Store } from '../store/store.ts';

/** Credits and calls. */
export interface Use {
  readonly credits: number;
  readonly calls: number;
}

export const NO_USE: Use = { credits: 0, calls: 0 };

interface Change {
  readonly use: Use;
  /** The level of the token bucket at a time, epoch milliseconds; null: the stored one stays. */
  readonly bound: { readonly tokens: number; readonly atMs: number } | null;
}

export class KeyWrites implements JournalMember {
  readonly where = 'keys';
  readonly #update;
  readonly #journal: Journal;
  readonly #changes = new Map<string, Change>();
  /** Ids of keys whose row is damaged: nothing can be written to it. */
  readonly #damaged = new Set<string>();

  constructor(store: Store, journal: Journal) {
    this.#update = store.books.prepare(
      'UPDATE keys SET credits_used = credits_used + ?, calls_used = calls_used + ?, tokens = coalesce(?, tokens), ' +
        'tokens_at = coalesce(?, tokens_at) WHERE id = ?',
    );
    this.#journal = journal;
    journal.join(this);
  }

  /** Adds to the use of a key; negative numbers take it back. */
  addUse(id: string, { credits, calls }: Use): void {
    const { use, bound = null } = this.#changes.get(id) ?? { use: NO_USE };
    this.#change(id, { use: { credits: use.credits + credits, calls: use.calls + calls }, bound });
  }

  setBound(id: string, bound: NonNullable<Change['bound']>): void {
    this.#change(id, { use: this.useOf(id), bound });
  }

  /** The use of a key that is not written yet. */
  useOf(id: string): Use {
    return this.#changes.get(id)?.use ?? NO_USE;
  }

  /** Whether an answer to this key must wait until the journal has written its row. */
  has(id: string): boolean {
    return this.#changes.has(id) || this.#damaged.has(id);
  }

  isDamaged(id: string): boolean {
    return this.#damaged.has(id);
  }

  /** Writes use within the open transaction of its work. */
  write(id: string, use: Use, bound: Change['bound'] = null): void {
    this.#update.run(use.credits, use.calls, bound?.tokens ?? null, bound?.atMs ?? null, id);
  }

  get size(): number {
    return this.#changes.size;
  }

  flushed(): void {
    this.#changes.clear();
  }

  *parts(): Iterable<JournalWrite> {
    for (const [id, { use, bound }] of this.#changes)
      yield {
        charges: id,
        write: () => {
          if (!this.#damaged.has(id)) this.write(id, use, bound);
        },
        giveUp: () => {
          this.#damaged.add(id);
          this.#changes.delete(id);
        },
      };
  }

  #change(id: string, change: Change): void {
    this.#changes.set(id, change);
    this.#journal.wake();
  }
}
