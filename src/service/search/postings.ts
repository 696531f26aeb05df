/** Which rows have which term, kept in the store in blocks: how they are written. One table for people and one for companies, which are numbered apart. */
import type { Store } from '../store/store.ts';
import type { TermGroup } from './terms.ts';
import { BLOCK, changeBlock, wordsOf } from './bitmap.ts';

/** People by their row; companies by the number of their domain. */
export type Side = 'person' | 'company';

const MAX_TERMS_REMEMBERED = 200_000;

/** Of one term in one block: rows within it that have the term now, and as -1 - row those that have not any more. */
type Change = number[];

/** Collects changes of a transaction and writes each touched block once. */
export class PostingWriter {
  /** By block, then by the term's number: numbers of 31 bits are found fastest. */
  readonly #changes = new Map<number, Map<number, Change>>();
  readonly #ids = new Map<string, number>();
  readonly #groups = new Map<TermGroup, readonly number[]>();
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

  /** Row `n`, which had the terms `before`, has those of `groups` now; returns them as they are to be kept with the row. */
  change(n: number, before: Uint8Array | null, groups: readonly TermGroup[]): Uint8Array {
    const ids = this.#idsOf(groups);
    const old = before === null ? [] : wordsOf(before);
    const block = this.#block(Math.floor(n / BLOCK));
    const row = n % BLOCK;
    let at = 0;
    for (const id of ids) {
      while (at < old.length && (old[at] as number) < id) changeOf(block, old[at++] as number).push(-1 - row);
      if (old[at] === id) at++;
      else changeOf(block, id).push(row);
    }
    while (at < old.length) changeOf(block, old[at++] as number).push(-1 - row);
    return new Uint8Array(ids.buffer);
  }

  /** The numbers of the terms, each once, in order. */
  #idsOf(groups: readonly TermGroup[]): Uint32Array<ArrayBuffer> {
    const found: number[] = [];
    for (const group of groups) for (const id of this.#idsOfGroup(group)) found.push(id);
    const sorted = Uint32Array.from(found).sort();
    let count = 0;
    for (const id of sorted) if (count === 0 || sorted[count - 1] !== id) sorted[count++] = id;
    return sorted.slice(0, count);
  }

  #idsOfGroup(group: TermGroup): readonly number[] {
    const known = this.#groups.get(group);
    if (known !== undefined) return known;
    const ids = group.map((term) => this.#id(term));
    if (this.#groups.size >= MAX_TERMS_REMEMBERED) this.#groups.clear();
    this.#groups.set(group, ids);
    return ids;
  }

  /** Writes what was changed; within the transaction of the changes. */
  flush(): void {
    const changed = [...this.#changes].flatMap(([block, changes]) => [...changes].map(([id, change]) => ({ at: id * BLOCK + block, change })));
    // In order of the table, whose pages are then touched one after the other.
    for (const { at, change } of changed.sort((one, other) => one.at - other.at)) {
      const kept = this.#read.get(at)?.['bits'] as Uint8Array | undefined;
      const block = changeBlock(kept ?? null, change);
      if (block === null) this.#dropBlock(at);
      else this.#write.run(at, block);
    }
    this.#changes.clear();
  }

  /** Terms may have been removed elsewhere since: their numbers are asked for again. */
  forgetNumbers(): void {
    this.#ids.clear();
    this.#groups.clear();
  }

  /** A term that nobody has any more is a word about somebody who was erased: it goes too. */
  #dropBlock(at: number): void {
    this.#drop.run(at);
    const id = Math.floor(at / BLOCK);
    if (this.#isUsed.get(id * BLOCK, id * BLOCK + BLOCK - 1) !== undefined) return;
    const term = this.#forget.get(id)?.['term'] as string | undefined;
    if (term !== undefined) this.#ids.delete(term);
    this.#groups.clear();
  }

  #block(number: number): Map<number, Change> {
    let block = this.#changes.get(number);
    if (block === undefined) {
      block = new Map();
      this.#changes.set(number, block);
    }
    return block;
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

function changeOf(block: Map<number, Change>, id: number): Change {
  let change = block.get(id);
  if (change === undefined) {
    change = [];
    block.set(id, change);
  }
  return change;
}
