/** Reads sets of rows by term, block by block; and the terms of one row. */
import { letGo, prepareRows } from '../../sqlite/array-rows.ts';
import type { Store } from '../store/store.ts';
import { BLOCK, emptyBits, readBlock, wordsOf, type Bits } from './bitmap.ts';
import type { AtHand } from './column-range.ts';
import { KeptPostings } from './kept-postings.ts';
import type { Side } from './postings.ts';

/** A block of so few bytes comes with the list of blocks; a larger one is read when it is needed. */
const SMALL = 256;
/** About what it takes in memory that a posting is there, and each of its blocks, bytes. */
const [OF_POSTING, OF_BLOCK] = [1_024, 64];
/** A block that is kept as bits is taken to have one in so many. */
const BITS_SHARE = 4;

type Blob = Uint8Array<ArrayBuffer>;

/** The rows that have a term. */
export interface Posting {
  /** The term's number; null: nobody has it. */
  readonly id: number | null;
  /** Blocks that have any of them. */
  readonly blocks: number;
  /** About how many rows there are. */
  readonly about: number;
  /** Adds those of a block to a set of that block. */
  addTo(block: number, into: Bits): void;
  /** Those of a block, to be read and not changed: in `room`, or where they are kept. Null: none. */
  rows(block: number, room: Bits): Bits | null;
}

const NOBODY: Posting = { id: null, blocks: 0, about: 0, addTo: () => undefined, rows: () => null };

export class PostingReader {
  readonly #find;
  readonly #list;
  readonly #read;
  readonly #whole;
  readonly #like;
  readonly #termsOf;
  readonly #kept: KeptPostings;

  /** Numbers of this side's rows. */
  readonly atHand: AtHand;

  /** @param room bytes of what was read that are kept until `forget` */
  constructor(store: Store, side: Side, room = 0, atHand: AtHand = {}) {
    this.atHand = atHand;
    this.#kept = new KeptPostings(room);
    this.#find = prepareRows<[id: number]>(store, `SELECT id FROM ${side}_terms WHERE term = ?`);
    this.#list = prepareRows<[at: number, size: number, bits: Blob | null]>(store, `SELECT at, length(bits) AS size, iif(length(bits) <= ${SMALL}, bits, NULL) AS bits FROM ${side}_postings WHERE at BETWEEN ? AND ?`);
    this.#read = prepareRows<[bits: Blob]>(store, `SELECT bits FROM ${side}_postings WHERE at = ?`);
    this.#whole = prepareRows<[at: number, bits: Blob]>(store, `SELECT at, bits FROM ${side}_postings WHERE at BETWEEN ? AND ?`);
    this.#like = prepareRows<[term: string]>(store, `SELECT term FROM ${side}_terms WHERE term >= ? AND term < ?`);
    this.#termsOf = prepareRows<[terms: Blob | null]>(store, side === 'person' ? 'SELECT terms FROM person_term_lists WHERE person = ?' : 'SELECT terms FROM domains JOIN companies USING (domain) WHERE domains.id = ?');
  }

  /** The store has changed. */
  forget(): void {
    this.#kept.clear();
  }

  posting(term: string): Posting {
    const known = this.#kept.get(term);
    if (known !== undefined) return known;
    const id = this.numberOf(term);
    if (id === null) return NOBODY;
    const from = id * BLOCK;
    const blocks = new Map<number, Blob | null>();
    let [about, bytes] = [0, OF_POSTING];
    for (const [at, size, bits] of this.#list.all(from, from + BLOCK - 1)) {
      blocks.set(at - from, bits);
      about += size === BLOCK / 8 ? BLOCK / BITS_SHARE : size / 2;
      bytes += OF_BLOCK + (bits === null ? 0 : size);
    }
    const read = (block: number): Blob | undefined => {
      const there = blocks.get(block);
      if (there !== null) return there;
      const bits = this.#read.get(from + block)?.[0];
      if (bits !== undefined && this.#kept.grow(term, posting, bits.length)) blocks.set(block, bits);
      return bits;
    };
    const isKept = (block: number, bits: Blob): boolean => blocks.get(block) === bits;
    const posting: Posting = {
      id,
      blocks: blocks.size,
      about,
      addTo(block, into) {
        const bits = read(block);
        if (bits === undefined) return;
        readBlock(bits, 0, into);
        if (!isKept(block, bits)) letGo(bits);
      },
      rows(block, room) {
        const bits = read(block);
        if (bits === undefined) return null;
        if (isKept(block, bits) && bits.length === BLOCK / 8) return wordsOf(bits);
        room.fill(0);
        readBlock(bits, 0, room);
        if (!isKept(block, bits)) letGo(bits);
        return room;
      },
    };
    this.#kept.put(term, posting, bytes);
    return posting;
  }

  /** A term's number; null: nobody has it. */
  numberOf(term: string): number | null {
    return this.#find.get(term)?.[0] ?? null;
  }

  /** The rows that have any of the terms with these numbers, by block. Holds no more than that and one block. */
  rowsWithAny(ids: Iterable<number>): ReadonlyMap<number, Bits> {
    const found = new Map<number, Bits>();
    for (const id of ids) {
      const from = id * BLOCK;
      for (const [at, bits] of this.#whole.iterate(from, from + BLOCK - 1)) {
        const block = at - from;
        const into = found.get(block) ?? emptyBits(BLOCK);
        found.set(block, into);
        readBlock(bits, 0, into);
        letGo(bits);
      }
    }
    return found;
  }

  /** The numbers of the terms that a row has, in order. */
  termsOf(row: number): Uint32Array {
    const kept = this.#termsOf.get(row)?.[0] ?? null;
    return kept === null ? new Uint32Array(0) : wordsOf(kept);
  }

  /** Every term that begins so. */
  *beginningWith(prefix: string): Generator<string> {
    for (const [term] of this.#like.iterate(prefix, `${prefix}\uffff`)) yield term;
  }
}

/** Whether a number is in a list that is in order. */
export function includes(list: Uint32Array, number: number | null): boolean {
  if (number === null) return false;
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((list[middle] ?? 0) < number) low = middle + 1;
    else high = middle;
  }
  return list[low] === number;
}
