/** Writes posting lists: for each term the rows that have it, in blocks. People and companies have separate tables and ids. */
import type { Store } from '../store.ts';
import { BLOCK, updateBlock, asWords } from './bitmap.ts';
import { PostingBuilder } from './posting-builder.ts';
import type { TermSpan, TermTable } from './term-table.ts';

/** People by row; companies by the id of their domain. */
export type Side = 'person' | 'company';

const MAX_TERM_IDS = 200_000;

/** Changes of one term in one block: `row` adds the row, and `-1 - row` removes it. */
type Change = number[];

/** Collects the changes of a transaction, and writes each changed block once. */
export class PostingWriter {
  /** By block, then by id of the term: maps are fastest with keys of 31 bits. */
  readonly #changes = new Map<number, Map<number, Change>>();
  readonly #ids = new Map<string, number>();
  /** Terms without a stored block, added since the last flush. */
  readonly #added = new Set<number>();
  /** The term table used last, and the id of each of its terms; 0 when not looked up yet. */
  #table: TermTable | null = null;
  #idsInTable = new Uint32Array(0);
  /** New rows of that table, all in one block, which are not in the changes yet. */
  readonly #newRows = new PostingBuilder();
  #newIn = 0;
  readonly #find;
  readonly #add;
  readonly #read;
  readonly #write;
  readonly #drop;
  readonly #isUsed;
  readonly #forget;

  constructor(store: Store, side: Side) {
    this.#find = store.prepare(`SELECT id FROM ${side}_terms WHERE term = ?`);
    this.#add = store.prepare(`INSERT INTO ${side}_terms (term) VALUES (?) ON CONFLICT DO NOTHING`);
    this.#read = store.prepare(`SELECT bits FROM ${side}_postings WHERE at = ?`);
    this.#write = store.prepare(`INSERT OR REPLACE INTO ${side}_postings (at, bits) VALUES (?, ?)`);
    this.#isUsed = store.prepare(`SELECT 1 FROM ${side}_postings WHERE at BETWEEN ? AND ? LIMIT 1`);
    this.#forget = store.prepare(`DELETE FROM ${side}_terms WHERE id = ? RETURNING term`);
    this.#drop = store.prepare(`DELETE FROM ${side}_postings WHERE at = ?`);
  }

  /** Replaces the terms `before` of row `n` by those of `span` (table null: by none). Returns the row's new term list. */
  change(n: number, before: Uint8Array | null, table: TermTable | null, span: TermSpan): Uint8Array {
    if (before === null && table !== null) {
      const list = this.termList(table, span);
      this.add(n, table, span);
      return list;
    }
    this.#mergeNewRows();
    const ids = table === null ? new Uint32Array(0) : this.#idsOf(table, span);
    this.#changeExisting(this.#block(Math.floor(n / BLOCK)), n % BLOCK, before, ids);
    return new Uint8Array(ids.buffer);
  }

  /** The term list of a row with the terms of `span`, as it is stored. */
  termList(table: TermTable, span: TermSpan): Uint8Array {
    return new Uint8Array(this.#idsOf(table, span).buffer);
  }

  /** Adds a new row with the terms of `span`. `termList` must have been called with them before. */
  add(n: number, table: TermTable, span: TermSpan): void {
    const block = Math.floor(n / BLOCK);
    if (block !== this.#newIn) this.#mergeNewRows();
    this.#newIn = block;
    this.#newRows.add(n % BLOCK, table.numbers, span);
  }

  /** Changes an existing row. @param ids its new terms */
  #changeExisting(block: Map<number, Change>, row: number, before: Uint8Array | null, ids: Uint32Array): void {
    const old = before === null ? [] : asWords(before);
    let at = 0;
    for (const id of ids) {
      while (at < old.length && (old[at] as number) < id) changeOf(block, old[at++] as number).push(-1 - row);
      if (old[at] === id) at++;
      else changeOf(block, id).push(row);
    }
    while (at < old.length) changeOf(block, old[at++] as number).push(-1 - row);
  }

  /** Moves the new rows to the changes, so that later changes come after them. */
  #mergeNewRows(): void {
    if (this.#newRows.isEmpty) return;
    const block = this.#block(this.#newIn);
    this.#newRows.take((number, rows) => {
      const change = changeOf(block, this.#idsInTable[number] as number);
      for (const row of rows) change.push(row);
    });
  }

  /** The ids of the terms, ascending. A record has no term twice. */
  #idsOf(table: TermTable, { from, to }: TermSpan): Uint32Array<ArrayBuffer> {
    if (table !== this.#table) {
      // The new rows use numbers of the last table.
      this.#mergeNewRows();
      this.#table = table;
      this.#idsInTable = new Uint32Array(table.terms.length);
    }
    const known = this.#idsInTable;
    const ids = new Uint32Array(to - from);
    for (let at = from; at < to; at++) {
      const number = table.numbers[at] as number;
      let id = known[number] as number;
      if (id === 0) {
        id = this.#id(table.terms[number] as string);
        known[number] = id;
      }
      ids[at - from] = id;
    }
    return ids.sort();
  }

  /** Writes the changed blocks, within the transaction of the changes. */
  flush(): void {
    this.#mergeNewRows();
    const emptied = new Set<number>();
    const changed = [...this.#changes].flatMap(([block, changes]) =>
      [...changes].map(([id, change]) => ({ at: id * BLOCK + block, isNew: this.#added.has(id), change })),
    );
    // In order of the key, so that SQLite's pages are visited one after the other.
    for (const { at, isNew, change } of changed.sort((one, other) => one.at - other.at)) {
      const stored = isNew ? undefined : (this.#read.get(at)?.['bits'] as Uint8Array | undefined);
      const block = updateBlock(stored ?? null, change);
      if (block === null) {
        this.#drop.run(at);
        emptied.add(Math.floor(at / BLOCK));
      } else {
        this.#write.run(at, block);
        this.#added.delete(Math.floor(at / BLOCK));
      }
    }
    // Their row was not written after all.
    for (const id of this.#added) emptied.add(id);
    this.#changes.clear();
    this.#added.clear();
    // After all writes: a term that lost a block may have gained a later one.
    for (const id of emptied) this.#forgetUnused(id);
  }

  /** To be called when another connection may have removed terms. */
  forgetIds(): void {
    this.#ids.clear();
    this.#table = null;
  }

  /** Deletes a term without rows: it may be a word about an erased person. */
  #forgetUnused(id: number): void {
    if (this.#isUsed.get(id * BLOCK, id * BLOCK + BLOCK - 1) !== undefined) return;
    const term = this.#forget.get(id)?.['term'] as string | undefined;
    // SQLite returns half a surrogate pair as U+FFFD, so the key in the map is unknown.
    if (term?.includes('\ufffd') === true) this.#ids.clear();
    else if (term !== undefined) this.#ids.delete(term);
    this.#table = null;
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
    // Most terms outside the map are new.
    const { changes, lastInsertRowid } = this.#add.run(term);
    const id = changes === 0 ? (this.#find.get(term)?.['id'] as number) : Number(lastInsertRowid);
    if (changes !== 0) this.#added.add(id);
    if (this.#ids.size >= MAX_TERM_IDS) this.#ids.clear();
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
