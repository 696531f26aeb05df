/** Reads posting lists, block by block, through an LRU cache of bounded size; and the terms of one row. */
import { releaseMemory, prepareRows } from '../../sqlite/array-rows.ts';
import { LruMap } from '../../util/lru-map.ts';
import type { Steps } from '../../util/steps.ts';
import { addBlock, asWords, BLOCK, emptyBitmap, type Bitmap } from '../store/index/bitmap.ts';
import type { Side } from '../store/index/posting-writer.ts';
import type { Store } from '../store/store.ts';
import type { RangeScans } from './column-scan.ts';

/** Blocks of up to this many bytes are read together with the list of blocks; larger ones on demand. */
const SMALL_BLOCK = 256;
/** Estimated memory of a cached list and of each of its blocks, bytes. */
const [LIST_OVERHEAD, BLOCK_OVERHEAD] = [1_024, 64];
/** The row estimate assumes that a block stored as bits has one row in four. */
const BITMAP_SHARE = 4;

type Blob = Uint8Array<ArrayBuffer>;
type TermWithId = [term: string, id: number];

/** A posting list: the rows that have a term. */
export interface PostingList {
  /** The term's id; null when no row has the term. */
  readonly id: number | null;
  /** How many blocks have rows. */
  readonly blocks: number;
  readonly rowEstimate: number;
  /** Adds the rows of a block to a bitmap of that block. */
  addTo(block: number, into: Bitmap): void;
  /** The rows of a block, read-only: in `buffer`, or in the cache. Null when the block has no rows. */
  rows(block: number, buffer: Bitmap): Bitmap | null;
}

const EMPTY_LIST: PostingList = { id: null, blocks: 0, rowEstimate: 0, addTo: () => undefined, rows: () => null };

interface Cached {
  readonly list: PostingList;
  bytes: number;
}

export class PostingReader {
  readonly #find;
  readonly #list;
  readonly #sizes;
  readonly #read;
  readonly #readAll;
  readonly #prefix;
  readonly #termsOf;
  readonly #cache: LruMap<string, Cached>;

  /** Ranges on these fields of this side are answered from a column in memory. */
  readonly rangeScans: RangeScans;

  /** @param cacheBytes bound of the cache, which `invalidate` empties */
  constructor(store: Store, side: Side, cacheBytes = 0, rangeScans: RangeScans = {}) {
    this.rangeScans = rangeScans;
    this.#cache = new LruMap(cacheBytes);
    this.#find = prepareRows<[id: number]>(store, `SELECT id FROM ${side}_terms WHERE term = ?`);
    this.#list = prepareRows<[at: number, size: number, bits: Blob | null]>(
      store,
      `SELECT at, length(bits) AS size, iif(length(bits) <= ${SMALL_BLOCK}, bits, NULL) AS bits FROM ${side}_postings ` +
        'WHERE at BETWEEN ? AND ?',
    );
    this.#sizes = prepareRows<[size: number]>(store, `SELECT length(bits) FROM ${side}_postings WHERE at BETWEEN ? AND ?`);
    this.#read = prepareRows<[bits: Blob]>(store, `SELECT bits FROM ${side}_postings WHERE at = ?`);
    this.#readAll = prepareRows<[at: number, bits: Blob]>(store, `SELECT at, bits FROM ${side}_postings WHERE at BETWEEN ? AND ?`);
    this.#prefix = prepareRows<TermWithId>(store, `SELECT term, id FROM ${side}_terms WHERE term > ? AND term < ? ORDER BY term LIMIT ?`);
    this.#termsOf = prepareRows<[terms: Blob | null]>(
      store,
      side === 'person'
        ? 'SELECT terms FROM person_term_lists WHERE person = ?'
        : 'SELECT terms FROM domains JOIN companies USING (domain) WHERE domains.id = ?',
    );
  }

  /** To be called after a write to the store. */
  invalidate(): void {
    this.#cache.clear();
  }

  /** The posting list of a term. Its large blocks are read on demand. */
  list(term: string): PostingList {
    const cached = this.#cache.get(term);
    if (cached !== undefined) return cached.list;
    const id = this.termId(term);
    if (id === null) return EMPTY_LIST;
    const from = id * BLOCK;
    const blocks = new Map<number, Blob | null>();
    let [rowEstimate, bytes] = [0, LIST_OVERHEAD];
    for (const [at, size, bits] of this.#list.all(from, from + BLOCK - 1)) {
      blocks.set(at - from, bits);
      rowEstimate += rowsOfSize(size);
      bytes += BLOCK_OVERHEAD + (bits === null ? 0 : size);
    }
    const read = (block: number): Blob | undefined => {
      const cachedBits = blocks.get(block);
      if (cachedBits !== null) return cachedBits;
      const bits = this.#read.get(from + block)?.[0];
      if (bits !== undefined && this.#grow(term, entry, bits.length)) blocks.set(block, bits);
      return bits;
    };
    const isCached = (block: number, bits: Blob): boolean => blocks.get(block) === bits;
    const list: PostingList = {
      id,
      blocks: blocks.size,
      rowEstimate,
      addTo(block, into) {
        const bits = read(block);
        if (bits === undefined) return;
        addBlock(bits, 0, into);
        if (!isCached(block, bits)) releaseMemory(bits);
      },
      rows(block, buffer) {
        const bits = read(block);
        if (bits === undefined) return null;
        if (isCached(block, bits) && bits.length === BLOCK / 8) return asWords(bits);
        buffer.fill(0);
        addBlock(bits, 0, buffer);
        if (!isCached(block, bits)) releaseMemory(bits);
        return buffer;
      },
    };
    const entry: Cached = { list, bytes };
    this.#cache.set(term, entry, bytes);
    return list;
  }

  /** Whether a list, still in the cache, may hold more bytes. Other lists may be evicted for them. */
  #grow(term: string, entry: Cached, bytes: number): boolean {
    if (this.#cache.peek(term) !== entry) return false;
    entry.bytes += bytes;
    return this.#cache.resize(term, entry.bytes);
  }

  /** The id of a term; null when no row has it. */
  termId(term: string): number | null {
    return this.#find.get(term)?.[0] ?? null;
  }

  /** The size of a posting list, by the id of its term. */
  sizeOf(id: number): Pick<PostingList, 'blocks' | 'rowEstimate'> {
    const sizes = this.#sizes.all(id * BLOCK, id * BLOCK + BLOCK - 1);
    return { blocks: sizes.length, rowEstimate: sizes.reduce((sum, [size]) => sum + rowsOfSize(size), 0) };
  }

  /** The rows that have any of the terms with these ids, by block. Holds the result and one more block. */
  *readUnion(ids: Iterable<number>): Steps<ReadonlyMap<number, Bitmap>> {
    const found = new Map<number, Bitmap>();
    for (const id of ids) {
      const from = id * BLOCK;
      for (const [at, bits] of this.#readAll.iterate(from, from + BLOCK - 1)) {
        const block = at - from;
        const into = found.get(block) ?? emptyBitmap(BLOCK);
        found.set(block, into);
        addBlock(bits, 0, into);
        releaseMemory(bits);
      }
      yield 1;
    }
    return found;
  }

  /** Ids of the terms of a row, ascending. */
  termsOf(row: number): Uint32Array {
    const stored = this.#termsOf.get(row)?.[0] ?? null;
    return stored === null ? new Uint32Array(0) : asWords(stored);
  }

  /** The first terms with a prefix that come after a term (null: from the beginning), in order, with their ids. */
  termsAfter(prefix: string, after: string | null, count: number): readonly TermWithId[] {
    return this.#prefix.all(after ?? prefix, `${prefix}\uffff`, count);
  }
}

/** Estimate of the rows in a block of this many bytes. */
function rowsOfSize(bytes: number): number {
  return bytes === BLOCK / 8 ? BLOCK / BITMAP_SHARE : bytes / 2;
}

/** Binary search in an ascending list. */
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
