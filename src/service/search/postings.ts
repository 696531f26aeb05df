/** Which rows have which term, kept in the store in blocks: how they are written. One table for people and one for companies, which are numbered apart. */
import type { Store } from '../store/store.ts';
import { BLOCK, changeBlock, wordsOf } from './bitmap.ts';
import { NewRows } from './new-rows.ts';
import type { TermSpan, TermTable } from './term-table.ts';

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
  /** Terms that were added since the last time, of which there is no block yet. */
  readonly #added = new Set<number>();
  /** The table that was asked for last, and by the terms' numbers in it their own; 0: not known yet. */
  #table: TermTable | null = null;
  #idsInTable = new Uint32Array(0);
  /** Rows of that table that are not among the changes yet, all in one block. */
  readonly #newRows = new NewRows();
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

  /** Row `n`, which had the terms `before`, has those of `span` now (null: none); returns them as they are to be kept with the row. */
  change(n: number, before: Uint8Array | null, table: TermTable | null, span: TermSpan): Uint8Array {
    if (before === null && table !== null) {
      const kept = this.kept(table, span);
      this.add(n, table, span);
      return kept;
    }
    this.#takeNewRows();
    const ids = table === null ? new Uint32Array(0) : this.#idsOf(table, span);
    this.#changeKept(this.#block(Math.floor(n / BLOCK)), n % BLOCK, before, ids);
    return new Uint8Array(ids.buffer);
  }

  /** The terms of `span` as they are kept with a row that has them. */
  kept(table: TermTable, span: TermSpan): Uint8Array {
    return new Uint8Array(this.#idsOf(table, span).buffer);
  }

  /** Row `n`, which is new, has the terms of `span`, whose kept form was asked for before. */
  add(n: number, table: TermTable, span: TermSpan): void {
    const block = Math.floor(n / BLOCK);
    if (block !== this.#newIn) this.#takeNewRows();
    this.#newIn = block;
    this.#newRows.add(n % BLOCK, table.numbers, span);
  }

  /** A row that had terms before. @param ids of what it has now */
  #changeKept(block: Map<number, Change>, row: number, before: Uint8Array | null, ids: Uint32Array): void {
    const old = before === null ? [] : wordsOf(before);
    let at = 0;
    for (const id of ids) {
      while (at < old.length && (old[at] as number) < id) changeOf(block, old[at++] as number).push(-1 - row);
      if (old[at] === id) at++;
      else changeOf(block, id).push(row);
    }
    while (at < old.length) changeOf(block, old[at++] as number).push(-1 - row);
  }

  /** New rows come behind all that was changed before, and what is changed after comes behind them. */
  #takeNewRows(): void {
    if (this.#newRows.isEmpty) return;
    const block = this.#block(this.#newIn);
    this.#newRows.take((number, rows) => {
      const change = changeOf(block, this.#idsInTable[number] as number);
      for (const row of rows) change.push(row);
    });
  }

  /** The terms' own numbers, in order. Each is there once, for a record has no term twice. */
  #idsOf(table: TermTable, { from, to }: TermSpan): Uint32Array<ArrayBuffer> {
    if (table !== this.#table) {
      // These are numbers of the table before.
      this.#takeNewRows();
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

  /** Writes what was changed; within the transaction of the changes. */
  flush(): void {
    this.#takeNewRows();
    const emptied = new Set<number>();
    const changed = [...this.#changes].flatMap(([block, changes]) => [...changes].map(([id, change]) => ({ at: id * BLOCK + block, isNew: this.#added.has(id), change })));
    // In order of the table, whose pages are then touched one after the other.
    for (const { at, isNew, change } of changed.sort((one, other) => one.at - other.at)) {
      const kept = isNew ? undefined : (this.#read.get(at)?.['bits'] as Uint8Array | undefined);
      const block = changeBlock(kept ?? null, change);
      if (block === null) {
        this.#drop.run(at);
        emptied.add(Math.floor(at / BLOCK));
      } else {
        this.#write.run(at, block);
        this.#added.delete(Math.floor(at / BLOCK));
      }
    }
    // Of a row that was not put after all.
    for (const id of this.#added) emptied.add(id);
    this.#changes.clear();
    this.#added.clear();
    // Not before all is written: what a term has lost in one block it may have gained in a later one.
    for (const id of emptied) this.#forgetUnused(id);
  }

  /** Terms may have been removed elsewhere since: their numbers are asked for again. */
  forgetNumbers(): void {
    this.#ids.clear();
    this.#table = null;
  }

  /** A term that nobody has any more is a word about somebody who was erased: it goes too. */
  #forgetUnused(id: number): void {
    if (this.#isUsed.get(id * BLOCK, id * BLOCK + BLOCK - 1) !== undefined) return;
    const term = this.#forget.get(id)?.['term'] as string | undefined;
    // Half a character comes back as the sign that stands for any: by which one of them the number is remembered is not known.
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
    // Of those that are not remembered most are new.
    const { changes, lastInsertRowid } = this.#add.run(term);
    const id = changes === 0 ? (this.#find.get(term)?.['id'] as number) : Number(lastInsertRowid);
    if (changes !== 0) this.#added.add(id);
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
