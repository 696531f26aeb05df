/** Who works where, by numbers: a person's row to the number of their company's domain, in chunks, so that a set of companies becomes a set of people. */
import { prepareRows } from '../../sqlite/array-rows.ts';
import type { Store } from '../store/store.ts';
import { AliasReader } from './aliases.ts';
import { and, andNot, bitsOf, hasAtMost, isEmptyBetween, numbersIn, setBit, wordsOf, type Bits } from './bitmap.ts';
import { CHUNK } from './packed.ts';

const WORDS_A_CHUNK = CHUNK / 32;
const MAX_REMEMBERED = 100_000;
/** The number of no domain, */
const NOWHERE = 0;
/** and the bit of it in the first word of a set. */
const FIRST = 1;

/** Numbers of domains, given when first met; from 1. */
export class DomainNumbers {
  readonly #numbers = new Map<string, number>();
  /** Where one is new, the next one is too, as a rule: then they are not looked for first. */
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

  /** Within a transaction. */
  give(domain: string): number {
    const known = this.#numbers.get(domain);
    if (known !== undefined) return known;
    let number = this.#isNews ? null : this.find(domain);
    if (number === null) {
      const { changes, lastInsertRowid } = this.#add.run(domain);
      this.#isNews = changes !== 0;
      number = this.#isNews ? Number(lastInsertRowid) : (this.find(domain) as number);
    }
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

/** Who is left of people by where they work: those at one of `companies`, and those of `people` (null: nobody) wherever they work; of `exclude` all others. */
export interface AtWork {
  readonly companies: Bits;
  readonly people: Bits | null;
  readonly exclude: boolean;
}

/** Chunks that are kept as they were read: 40 MiB, which are ten million people. Those who come later are read each time; to let others go for them would be of no use to whoever reads all of them in turn. */
const MOST_KEPT = (40 * 1024 * 1024) / (CHUNK * Uint32Array.BYTES_PER_ELEMENT);

/** Finding who works at a company takes as long as looking through so many chunks of people, as a rule. */
const CHUNKS_A_COMPANY = 4;
/** Finding so many people at a company takes as long as looking through one chunk. */
export const PEOPLE_A_CHUNK = 150;

/** Turns sets of companies into sets of the people who work there. */
export class EmployerReader {
  /** What the domains where they work stand for. */
  readonly aliases: AliasReader;
  readonly #kept = new Map<number, Uint32Array>();
  readonly #read;
  readonly #peopleAt;

  constructor(store: Store) {
    this.aliases = new AliasReader(store);
    this.#read = prepareRows<[ids: Uint8Array<ArrayBuffer>]>(store, 'SELECT ids FROM employers WHERE chunk = ?');
    this.#peopleAt = prepareRows<[seq: number]>(store, 'SELECT seq FROM domains JOIN people ON company_domain = domain WHERE domains.id = ? LIMIT ?');
  }

  /** The number of where each person of a chunk works, 0: nowhere. */
  chunk(chunk: number): Uint32Array {
    const known = this.#kept.get(chunk);
    if (known !== undefined) return known;
    const kept = this.#read.get(chunk)?.[0];
    const ids = kept === undefined ? NOBODY_WORKS : wordsOf(kept);
    if (this.#kept.size < MOST_KEPT) this.#kept.set(chunk, ids);
    return ids;
  }

  /** The store has changed. */
  forget(): void {
    this.aliases.forget();
    this.#kept.clear();
  }

  /** The rows of those who work at a company, by its number. Null: they are more than `most`. */
  peopleAt(company: number, most: number): readonly number[] | null {
    const rows = this.#peopleAt.all(company, Math.floor(most) + 1);
    return rows.length > most ? null : rows.map(([seq]) => seq);
  }

  /** Where they work, one number for each of them. */
  *numbersOf(people: Bits): Generator<number> {
    let known = -1;
    let ids: Uint32Array = NOBODY_WORKS;
    for (const person of numbersIn(people)) {
      const chunk = Math.floor(person / CHUNK);
      if (chunk !== known) ids = this.chunk(chunk);
      known = chunk;
      yield ids[person % CHUNK] ?? NOWHERE;
    }
  }

  /** Takes out of `found` whoever is not left by all of `steps`. Looks at nobody else, and so costs little for few; of few companies it looks up who works there. */
  narrow(found: Bits, steps: readonly AtWork[]): void {
    const chunks: number[] = [];
    for (let from = 0; from < found.length; from += WORDS_A_CHUNK) if (!isEmptyBetween(found, from, from + WORDS_A_CHUNK)) chunks.push(from / WORDS_A_CHUNK);
    const areFew = (companies: Bits): boolean => ((companies[0] ?? 0) & FIRST) === 0 && hasAtMost(companies, chunks.length / CHUNKS_A_COMPANY);
    const most = chunks.length * PEOPLE_A_CHUNK;
    const left = steps.filter((step) => !areFew(step.companies) || !this.#narrowToFew(found, step, most));
    if (left.length === 0) return;
    for (const chunk of chunks) {
      const ids = this.chunk(chunk);
      for (const step of left) narrowChunk(found, chunk * WORDS_A_CHUNK, ids, step);
    }
  }

  /** False: more than `most` work there, and nothing was done. @param step of companies with a number */
  #narrowToFew(found: Bits, { companies, people, exclude }: AtWork, most: number): boolean {
    const met = people?.slice() ?? new Uint32Array(found.length);
    let left = most;
    for (const company of numbersIn(companies)) {
      const staff = this.peopleAt(company, left);
      if (staff === null) return false;
      left -= staff.length;
      for (const person of staff) setBit(met, person);
    }
    if (exclude) andNot(found, met);
    else and(found, met);
    return true;
  }
}

/** Takes out of `found` whoever of a chunk, which begins at the word `first`, is not left. */
function narrowChunk(found: Bits, first: number, ids: Uint32Array, { companies, people, exclude }: AtWork): void {
  for (let word = 0; word < WORDS_A_CHUNK; word++) {
    const left = found[first + word] ?? 0;
    if (left === 0) continue;
    const met = workingAt(ids, word * 32, companies, left) | (people?.[first + word] ?? 0);
    found[first + word] = left & (exclude ? ~met : met);
  }
}

const NOBODY_WORKS = new Uint32Array(CHUNK).fill(NOWHERE);

/** So many of 32 are looked at one by one; of more it is quicker to look at all. */
const FEW = 12;

/** Which of `among`, of the 32 of a chunk from `from`, work at one of the companies. */
export function workingAt(ids: Uint32Array, from: number, companies: Bits, among: number): number {
  let found = 0;
  if (bitsOf(among) <= FEW) {
    for (let word = among; word !== 0; word &= word - 1) {
      const bit = 31 - Math.clz32(word & -word);
      const id = ids[from + bit] ?? NOWHERE;
      found |= (((companies[id >>> 5] ?? 0) >>> (id & 31)) & 1) << bit;
    }
    return found;
  }
  // Four at a time, for which the processor need not wait one after the other.
  for (let at = from + 28; at >= from; at -= 4) {
    const a = ids[at] ?? NOWHERE;
    const b = ids[at + 1] ?? NOWHERE;
    const c = ids[at + 2] ?? NOWHERE;
    const d = ids[at + 3] ?? NOWHERE;
    // Of a shift the lowest five bits count.
    const four = (((companies[a >>> 5] ?? 0) >>> a) & 1) | ((((companies[b >>> 5] ?? 0) >>> b) & 1) << 1) | ((((companies[c >>> 5] ?? 0) >>> c) & 1) << 2) | ((((companies[d >>> 5] ?? 0) >>> d) & 1) << 3);
    found = (found << 4) | four;
  }
  return found & among;
}
