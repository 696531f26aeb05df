import type { Store } from '../store.ts';

const MAX_IDS = 100_000;

/** Ids of domains, from 1, assigned on first use. */
export class DomainIds {
  readonly #ids = new Map<string, number>();
  /** Whether the last domain was new. An import has runs of new domains, for which an insert without a look-up is faster. */
  #isNews = true;
  readonly #find;
  readonly #add;

  constructor(store: Store) {
    this.#find = store.prepare('SELECT id FROM domains WHERE domain = ?');
    this.#add = store.prepare('INSERT INTO domains (domain) VALUES (?) ON CONFLICT DO NOTHING');
  }

  find(domain: string): number | null {
    return (this.#find.get(domain)?.['id'] as number | undefined) ?? null;
  }

  /** To be called within a transaction. */
  getOrAdd(domain: string): number {
    const known = this.#ids.get(domain);
    if (known !== undefined) return known;
    let number = this.#isNews ? null : this.find(domain);
    if (number === null) {
      const { changes, lastInsertRowid } = this.#add.run(domain);
      this.#isNews = changes !== 0;
      number = this.#isNews ? Number(lastInsertRowid) : (this.find(domain) as number);
    }
    if (this.#ids.size >= MAX_IDS) this.#ids.clear();
    this.#ids.set(domain, number);
    return number;
  }
}
