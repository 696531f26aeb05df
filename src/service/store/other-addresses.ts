/** Addresses of people beside their main one: by which of them somebody is found, too. Several people may have one. */
import { normaliseEmail } from '../../verification/address.ts';
import type { SparseRecord } from '../records.ts';
import { onceATransaction } from './once.ts';
import type { Store } from './store.ts';

type Row = Readonly<Record<string, unknown>>;

/** Of those who have one address, so many are looked at for who is meant: one of more is nobody's in particular. */
const MAX_SHARING = 20;

/** Every address of a person, the main one first. */
export function addressesOf(person: SparseRecord): string[] {
  const given: unknown[] = [];
  for (const list of [person['emails'], person['personal_emails']]) {
    if (!Array.isArray(list)) continue;
    for (const entry of list as readonly unknown[]) given.push(typeof entry === 'object' && entry !== null ? ((entry as SparseRecord)['email'] ?? (entry as SparseRecord)['address']) : entry);
  }
  const found = new Set<string>();
  // The main one is kept as a key already.
  if (typeof person['email'] === 'string') found.add(person['email']);
  for (const address of given) {
    const email = typeof address === 'string' ? normaliseEmail(address) : null;
    if (email !== null) found.add(email);
  }
  return [...found];
}

/** Addresses of a person beside their main one. */
export function otherAddressesOf(person: SparseRecord): string[] {
  if (person['emails'] === undefined && person['personal_emails'] === undefined) return [];
  return addressesOf(person).filter((address) => address !== person['email']);
}

/** Keeps and finds people's addresses beside their main ones. Most stores have few, or none: then nothing is looked for. */
export class OtherAddresses {
  readonly #isAny: () => boolean;
  #added = false;
  readonly #has;
  readonly #find;
  readonly #add;
  readonly #forget;

  constructor(store: Store, index: { readonly transactions: number }) {
    const any = store.prepare('SELECT 1 FROM other_addresses LIMIT 1');
    this.#isAny = onceATransaction(index, () => any.get() !== undefined);
    this.#has = store.prepare('SELECT 1 FROM other_addresses WHERE email = ?');
    this.#find = store.prepare(`SELECT people.* FROM other_addresses JOIN people ON people.seq = person WHERE other_addresses.email = ? ORDER BY person LIMIT ${MAX_SHARING}`);
    this.#add = store.prepare('INSERT OR IGNORE INTO other_addresses (email, person) VALUES (?, ?)');
    this.#forget = store.prepare('DELETE FROM other_addresses WHERE person = ?');
  }

  /** Whether anybody has it. */
  has(email: string): boolean {
    return (this.#added || this.#isAny()) && this.#has.get(email) !== undefined;
  }

  /** The row of the first who has it and may be who is meant. */
  find(email: string, mayBe: (row: Row) => boolean): Row | undefined {
    return this.#added || this.#isAny() ? this.#find.all(email).find(mayBe) : undefined;
  }

  /** Those before are to be forgotten first. */
  put(person: number, others: readonly string[]): void {
    if (others.length > 0) this.#added = true;
    for (const email of others) this.#add.run(email, person);
  }

  forget(person: number): void {
    if (this.#added || this.#isAny()) this.#forget.run(person);
  }
}

/** Part of a migration: the other addresses of people who are there already. */
export function putOtherAddresses(store: Store): void {
  const addresses = new OtherAddresses(store, { transactions: 0 });
  const people = store.prepare(`SELECT seq, doc FROM people WHERE doc LIKE '%"emails":%' OR doc LIKE '%"personal_emails":%'`);
  for (const { seq, doc } of people.iterate()) addresses.put(seq as number, otherAddressesOf(JSON.parse(doc as string) as SparseRecord));
}
