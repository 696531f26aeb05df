/** Keys of people of which several may have one: addresses beside the main one, former profiles, other ids. */
import { onceATransaction } from './once.ts';
import type { Store } from './store.ts';

type Row = Readonly<Record<string, unknown>>;

/** Where they are kept, and in which column. */
const TABLES = { other_addresses: 'email', other_keys: 'key' } as const;

/** Of those who have one key, so many are looked at for who is meant: one of more is nobody's in particular. */
export const MAX_SHARING = 20;

/** Keeps and finds them. Most stores have few, or none: then nothing is looked for. */
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
    this.#isAny = onceATransaction(index, () => any.get() !== undefined);
    this.#has = store.prepare(`SELECT 1 FROM ${table} WHERE ${column} = ?`);
    this.#find = store.prepare(`SELECT people.* FROM ${table} JOIN people ON people.seq = person WHERE ${table}.${column} = ? ORDER BY person LIMIT ${MAX_SHARING}`);
    this.#add = store.prepare(`INSERT OR IGNORE INTO ${table} (${column}, person) VALUES (?, ?)`);
    this.#forget = store.prepare(`DELETE FROM ${table} WHERE person = ?`);
  }

  /** Whether anybody has it. */
  has(key: string): boolean {
    return (this.#added || this.#isAny()) && this.#has.get(key) !== undefined;
  }

  /** The row of the first who has it and may be who is meant. */
  find(key: string, mayBe: (row: Row) => boolean): Row | undefined {
    return this.#added || this.#isAny() ? this.#find.all(key).find(mayBe) : undefined;
  }

  /** Those before are to be forgotten first. */
  put(person: number, keys: readonly string[]): void {
    if (keys.length > 0) this.#added = true;
    for (const key of keys) this.#add.run(key, person);
  }

  forget(person: number): void {
    if (this.#added || this.#isAny()) this.#forget.run(person);
  }
}
