/** Reads sets of rows by term, block by block; and the terms of one row. */
import type { Store } from '../store/store.ts';
import { BLOCK, emptyBits, readBlock, wordsOf, type Bits } from './bitmap.ts';
import { KeptPostings } from './kept-postings.ts';
import type { Side } from './postings.ts';

/** A block of so few bytes comes with the list of blocks; a larger one is read when it is needed. */
const SMALL = 256;
/** About what it takes in memory that a posting is there, and each of its blocks, bytes. */
const [OF_POSTING, OF_BLOCK] = [1_024, 64];
/** A block that is kept as bits is taken to have one in so many. */
const BITS_SHARE = 4;

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
  /** Those of a block, to be read and not changed: in `room`, or where they were read to. Null: none. */
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

  /** @param room bytes of what was read that are kept until `forget` */
  constructor(store: Store, side: Side, room = 0) {
    this.#kept = new KeptPostings(room);
    this.#find = store.prepare(`SELECT id FROM ${side}_terms WHERE term = ?`);
    this.#list = store.prepare(`SELECT at, length(bits) AS size, iif(length(bits) <= ${SMALL}, bits, NULL) AS bits FROM ${side}_postings WHERE at BETWEEN ? AND ?`);
    this.#read = store.prepare(`SELECT bits FROM ${side}_postings WHERE at = ?`);
    this.#whole = store.prepare(`SELECT at, bits FROM ${side}_postings WHERE at BETWEEN ? AND ?`);
    this.#like = store.prepare(`SELECT term FROM ${side}_terms WHERE term >= ? AND term < ?`);
    this.#termsOf = store.prepare(side === 'person' ? 'SELECT terms FROM person_term_lists WHERE person = ?' : 'SELECT terms FROM domains JOIN companies USING (domain) WHERE domains.id = ?');
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
    const blocks = new Map<number, Uint8Array | null>();
    let [about, bytes] = [0, OF_POSTING];
    for (const { at, size, bits } of this.#list.all(from, from + BLOCK - 1)) {
      blocks.set((at as number) - from, bits as Uint8Array | null);
      about += size === BLOCK / 8 ? BLOCK / BITS_SHARE : (size as number) / 2;
      bytes += OF_BLOCK + (bits === null ? 0 : (size as number));
    }
    const read = (block: number): Uint8Array | undefined => {
      const there = blocks.get(block);
      if (there !== null) return there;
      const bits = this.#read.get(from + block)?.['bits'] as Uint8Array | undefined;
      if (bits !== undefined && this.#kept.grow(term, posting, bits.length)) blocks.set(block, bits);
      return bits;
    };
    const posting: Posting = {
      id,
      blocks: blocks.size,
      about,
      addTo(block, into) {
        const bits = read(block);
        if (bits !== undefined) readBlock(bits, 0, into);
      },
      rows(block, room) {
        const bits = read(block);
        if (bits === undefined) return null;
        if (bits.length === BLOCK / 8) return wordsOf(bits);
        room.fill(0);
        readBlock(bits, 0, room);
        return room;
      },
    };
    this.#kept.put(term, posting, bytes);
    return posting;
  }

  /** A term's number; null: nobody has it. */
  numberOf(term: string): number | null {
    return (this.#find.get(term)?.['id'] as number | undefined) ?? null;
  }

  /** The rows that have any of the terms with these numbers, by block. Holds no more than that and one term's. */
  rowsWithAny(ids: Iterable<number>): ReadonlyMap<number, Bits> {
    const found = new Map<number, Bits>();
    for (const id of ids) {
      const from = id * BLOCK;
      for (const { at, bits } of this.#whole.all(from, from + BLOCK - 1)) {
        const block = (at as number) - from;
        const into = found.get(block) ?? emptyBits(BLOCK);
        found.set(block, into);
        readBlock(bits as Uint8Array, 0, into);
      }
    }
    return found;
  }

  /** The numbers of the terms that a row has, in order. */
  termsOf(row: number): Uint32Array {
    const kept = this.#termsOf.get(row)?.['terms'] as Uint8Array | null | undefined;
    return kept === undefined || kept === null ? new Uint32Array(0) : wordsOf(kept);
  }

  /** Every term that begins so. */
  *beginningWith(prefix: string): Generator<string> {
    for (const { term } of this.#like.iterate(prefix, `${prefix}\uffff`)) yield term as string;
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
