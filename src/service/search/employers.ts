/** Who works where, by numbers: a person's row to the number of their company's domain, in chunks, so that a set of companies becomes a set of people. */
import type { Store } from '../store/store.ts';
import { isEmptyBetween, wordsOf, type Bits } from './bitmap.ts';
import { CHUNK } from './packed.ts';

const WORDS_A_CHUNK = CHUNK / 32;
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
      const ids = kept === undefined ? new Uint32Array(CHUNK) : wordsOf(kept).slice();
      for (const [at, domain] of changes) ids[at] = domain;
      this.#write.run(chunk, new Uint8Array(ids.buffer));
    }
    this.#changes.clear();
  }
}

/** Turns sets of companies into sets of the people who work there. */
export class EmployerReader {
  readonly #read;

  constructor(store: Store) {
    this.#read = store.prepare('SELECT ids FROM employers WHERE chunk = ?');
  }

  /** The number of where each person of a chunk works, 0: nowhere; null when nobody was ever in it. */
  chunk(chunk: number): Uint32Array | null {
    const kept = this.#read.get(chunk)?.['ids'] as Uint8Array | undefined;
    return kept === undefined ? null : wordsOf(kept);
  }

  /** Those of `among` who work at one of `companies`. Looks at nobody else, and so costs little for few. */
  peopleAt(companies: Bits, among: Bits): Bits {
    const people = new Uint32Array(among.length);
    for (let from = 0; from < among.length; from += WORDS_A_CHUNK) {
      if (isEmptyBetween(among, from, from + WORDS_A_CHUNK)) continue;
      const ids = this.chunk(from / WORDS_A_CHUNK);
      if (ids === null) continue;
      for (let word = 0; word < WORDS_A_CHUNK; word++) {
        const wanted = among[from + word] ?? 0;
        if (wanted === 0) continue;
        let found = 0;
        for (let bit = 0; bit < 32; bit++) {
          const id = ids[word * 32 + bit] ?? NOWHERE;
          found |= (((companies[id >>> 5] ?? 0) >>> (id & 31)) & 1) << bit;
        }
        people[from + word] = found & wanted;
      }
    }
    return people;
  }
}
