/** Which rows have which term, kept in the store in blocks. One table for people and one for companies, which are numbered apart. */
import type { Store } from '../store/store.ts';
import { BLOCK, changeBlock, emptyBits, readBlock, type Bits } from './bitmap.ts';

/** People by their row; companies by the number of their domain. */
export type Side = 'person' | 'company';

const MAX_TERMS_REMEMBERED = 200_000;

interface Change {
  readonly added: number[];
  readonly removed: number[];
}

/** Collects changes of a transaction and writes each touched block once. */
export class PostingWriter {
  readonly #changes = new Map<number, Change>();
  readonly #ids = new Map<string, number>();
  readonly #find;
  readonly #add;
  readonly #read;
  readonly #write;
  readonly #drop;
  readonly #isUsed;
  readonly #forget;

  constructor(store: Store, side: Side) {
    this.#find = store.prepare(`SELECT id FROM ${side}_terms WHERE term = ?`);
    this.#add = store.prepare(`INSERT INTO ${side}_terms (term) VALUES (?)`);
    this.#read = store.prepare(`SELECT bits FROM ${side}_postings WHERE at = ?`);
    this.#write = store.prepare(`INSERT OR REPLACE INTO ${side}_postings (at, bits) VALUES (?, ?)`);
    this.#isUsed = store.prepare(`SELECT 1 FROM ${side}_postings WHERE at BETWEEN ? AND ? LIMIT 1`);
    this.#forget = store.prepare(`DELETE FROM ${side}_terms WHERE id = ? RETURNING term`);
    this.#drop = store.prepare(`DELETE FROM ${side}_postings WHERE at = ?`);
  }

  /** Row `n`, which had the terms `before`, has `terms` now; returns them as they are to be kept with the row. */
  change(n: number, before: Uint8Array | null, terms: readonly string[]): Uint8Array {
    const ids = terms.map((term) => this.#id(term)).sort((one, other) => one - other);
    const old = before === null ? [] : idsIn(before);
    let at = 0;
    for (const id of ids) {
      while (at < old.length && (old[at] as number) < id) this.#touch(old[at++] as number, n).removed.push(n % BLOCK);
      if (old[at] === id) at++;
      else this.#touch(id, n).added.push(n % BLOCK);
    }
    while (at < old.length) this.#touch(old[at++] as number, n).removed.push(n % BLOCK);
    return new Uint8Array(Uint32Array.from(ids).buffer);
  }

  /** Writes what was changed; within the transaction of the changes. */
  flush(): void {
    // In order of the table, whose pages are then touched one after the other.
    for (const at of [...this.#changes.keys()].sort((one, other) => one - other)) {
      const { added, removed } = this.#changes.get(at) as Change;
      const kept = this.#read.get(at)?.['bits'] as Uint8Array | undefined;
      const block = changeBlock(kept ?? null, added, removed);
      if (block === null) this.#dropBlock(at);
      else this.#write.run(at, block);
    }
    this.#changes.clear();
  }

  /** Terms may have been removed elsewhere since: their numbers are asked for again. */
  forgetNumbers(): void {
    this.#ids.clear();
  }

  /** A term that nobody has any more is a word about somebody who was erased: it goes too. */
  #dropBlock(at: number): void {
    this.#drop.run(at);
    const id = Math.floor(at / BLOCK);
    if (this.#isUsed.get(id * BLOCK, id * BLOCK + BLOCK - 1) !== undefined) return;
    const term = this.#forget.get(id)?.['term'] as string | undefined;
    if (term !== undefined) this.#ids.delete(term);
  }

  #touch(id: number, n: number): Change {
    const at = id * BLOCK + Math.floor(n / BLOCK);
    let change = this.#changes.get(at);
    if (change === undefined) {
      change = { added: [], removed: [] };
      this.#changes.set(at, change);
    }
    return change;
  }

  #id(term: string): number {
    const known = this.#ids.get(term);
    if (known !== undefined) return known;
    const id = (this.#find.get(term)?.['id'] as number | undefined) ?? Number(this.#add.run(term).lastInsertRowid);
    if (this.#ids.size >= MAX_TERMS_REMEMBERED) this.#ids.clear();
    this.#ids.set(term, id);
    return id;
  }
}

/** Reads sets of rows by term. */
export class PostingReader {
  readonly #find;
  readonly #read;
  readonly #like;

  constructor(store: Store, side: Side) {
    this.#find = store.prepare(`SELECT id FROM ${side}_terms WHERE term = ?`);
    this.#read = store.prepare(`SELECT at, bits FROM ${side}_postings WHERE at BETWEEN ? AND ?`);
    this.#like = store.prepare(`SELECT term FROM ${side}_terms WHERE term >= ? AND term < ?`);
  }

  /** The rows that have the term, in a set with room for `size`. */
  read(term: string, size: number): Bits {
    return this.add(term, emptyBits(size));
  }

  /** The same, added to a set. */
  add(term: string, into: Bits): Bits {
    const id = this.#find.get(term)?.['id'] as number | undefined;
    if (id === undefined) return into;
    const from = id * BLOCK;
    for (const { at, bits } of this.#read.all(from, from + BLOCK - 1)) readBlock(bits as Uint8Array, (at as number) - from, into);
    return into;
  }

  /** Every term that begins so. */
  *beginningWith(prefix: string): Generator<string> {
    for (const { term } of this.#like.iterate(prefix, `${prefix}\uffff`)) yield term as string;
  }
}

/** Blobs come without a promise of alignment. */
function idsIn(kept: Uint8Array): Uint32Array {
  return new Uint32Array(kept.slice().buffer);
}
