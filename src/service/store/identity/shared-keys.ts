/** Identifying keys that several people may share: other addresses, former profiles and further ids. */
import { oncePerTransaction } from '../rows/once-per-transaction.ts';
import type { Store } from '../store.ts';

type Row = Readonly<Record<string, unknown>>;

/** The tables, and the column of the key in each. */
const TABLES = { other_addresses: 'email', other_keys: 'key' } as const;

/** A key of more people identifies nobody. */
export const MAX_SHARING = 20;

/** Reads and writes one of the tables. Most stores have few such keys or none, and then no query runs. */
export class SharedKeys {
  readonly #isAny: () => boolean;
  #added = false;
  readonly #has;
  readonly #find;
  readonly #add;
  readonly #forget;

  constructor(store: Store, table: keyof typeof TABLES, index: { readonly transactions: number }) {
    const column = TABLES[table];
    const any = store.prepare(`SELECT 1 FROM ${table} LIMIT 1`);
    this.#isAny = oncePerTransaction(index, () => any.get() !== undefined);
    this.#has = store.prepare(`SELECT 1 FROM ${table} WHERE ${column} = ?`);
    this.#find = store.prepare(
      `SELECT people.* FROM ${table} JOIN people ON people.seq = person WHERE ${table}.${column} = ? ORDER BY person LIMIT ${MAX_SHARING}`,
    );
    this.#add = store.prepare(`INSERT OR IGNORE INTO ${table} (${column}, person) VALUES (?, ?)`);
    this.#forget = store.prepare(`DELETE FROM ${table} WHERE person = ?`);
  }

  /** Whether any person has the key. */
  has(key: string): boolean {
    return (this.#added || this.#isAny()) && this.#has.get(key) !== undefined;
  }

  /** The first row with the key that is compatible. */
  find(key: string, isCompatible: (row: Row) => boolean): Row | undefined {
    return this.#added || this.#isAny() ? this.#find.all(key).find(isCompatible) : undefined;
  }

  /** Call `forget` first if the person may have keys. */
  put(person: number, keys: readonly string[]): void {
    if (keys.length > 0) this.#added = true;
    for (const key of keys) this.#add.run(key, person);
  }

  forget(person: number): void {
    if (this.#added || this.#isAny()) this.#forget.run(person);
  }
}
