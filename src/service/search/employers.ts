/** Who works where, by numbers: a person's row to the number of their company's domain, in chunks, so that a set of companies becomes a set of people. */
import type { Store } from '../store/store.ts';
import { emptyBits, hasBit, setBit, type Bits } from './bitmap.ts';

/** People in one kept chunk. */
const CHUNK = 4_096;
const MAX_REMEMBERED = 100_000;
/** The number of no domain. */
const NOWHERE = 0;

/** Numbers of domains, given when first met; from 1. */
export class DomainNumbers {
  readonly #numbers = new Map<string, number>();
  readonly #find;
  readonly #add;

  constructor(store: Store) {
    this.#find = store.prepare('SELECT id FROM domains WHERE domain = ?');
    this.#add = store.prepare('INSERT INTO domains (domain) VALUES (?)');
  }

  find(domain: string): number | null {
    return (this.#find.get(domain)?.['id'] as number | undefined) ?? null;
  }

  /** Within a transaction. */
  give(domain: string): number {
    const known = this.#numbers.get(domain);
    if (known !== undefined) return known;
    const number = this.find(domain) ?? Number(this.#add.run(domain).lastInsertRowid);
    if (this.#numbers.size >= MAX_REMEMBERED) this.#numbers.clear();
    this.#numbers.set(domain, number);
    return number;
  }
}

/** Collects who works where now, and writes each touched chunk once. */
export class EmployerWriter {
  readonly #changes = new Map<number, Map<number, number>>();
  readonly #read;
  readonly #write;

  constructor(store: Store) {
    this.#read = store.prepare('SELECT ids FROM employers WHERE chunk = ?');
    this.#write = store.prepare('INSERT OR REPLACE INTO employers (chunk, ids) VALUES (?, ?)');
  }

  change(person: number, domain: number | null): void {
    const chunk = Math.floor(person / CHUNK);
    let changes = this.#changes.get(chunk);
    if (changes === undefined) {
      changes = new Map();
      this.#changes.set(chunk, changes);
    }
    changes.set(person % CHUNK, domain ?? NOWHERE);
  }

  /** Within the transaction of the changes. */
  flush(): void {
    for (const [chunk, changes] of this.#changes) {
      const kept = this.#read.get(chunk)?.['ids'] as Uint8Array | undefined;
      const ids = kept === undefined ? new Uint32Array(CHUNK) : new Uint32Array(kept.slice().buffer);
      for (const [at, domain] of changes) ids[at] = domain;
      this.#write.run(chunk, new Uint8Array(ids.buffer));
    }
    this.#changes.clear();
  }
}

/** The people who work at a set of companies, in a set with room for `size`. */
export function peopleAt(store: Store, companies: Bits, size: number): Bits {
  const people = emptyBits(size);
  for (const row of store.prepare('SELECT chunk, ids FROM employers').iterate()) {
    const ids = new Uint32Array((row['ids'] as Uint8Array).slice().buffer);
    const from = (row['chunk'] as number) * CHUNK;
    for (let i = 0; i < CHUNK; i++) if (hasBit(companies, ids[i] ?? NOWHERE)) setBit(people, from + i);
  }
  return people;
}
