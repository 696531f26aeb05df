/** The headcount of each person's employer. It is stored once a company, and reached through the person's employer id. */
import type { Steps } from '../../util/steps.ts';
import type { CompanySizes } from '../store/index/aliases.ts';
import { BLOCK, emptyBitmap, popcount32, setBit, type Bitmap } from '../store/index/bitmap.ts';
import { workingAt, type EmployerReader } from '../store/index/employers.ts';
import { CHUNK, type DecodedChunk } from '../store/index/packed-chunk.ts';
import { ColumnReader } from '../store/index/sort-columns.ts';
import { NO_HEADCOUNT } from '../store/index/sort-keys.ts';
import type { Store } from '../store/store.ts';
import type { Bounds, RangeScan } from './column-scan.ts';
import { assert } from '../../util/assert.ts';

/**
 * The numbers of a chunk's rows, valid until the next chunk is read. The code may be NaN for rows outside `among` and for numbers not
 * from `least` to `most`.
 */
export type PageChunk = (chunk: number, among: Bitmap, least: number, most: number) => DecodedChunk;

/** Words of people after which the set of companies in range is computed again, and the growth of that interval. */
const REFRESH_WORDS = 1_024;
const REFRESH_GROWTH = 8;
/** Up to this many candidates among 32 rows are looked up one by one. */
const FEW = 8;
const MOST_IN_32_BITS = 2 ** 31 - 2;

export class Headcounts implements RangeScan {
  readonly #employers: EmployerReader;
  readonly #column: ColumnReader;
  readonly #lastCompany;
  #sizes: CompanySizes | null = null;
  #unknown: Bitmap | null = null;

  constructor(store: Store, employers: EmployerReader) {
    this.#employers = employers;
    this.#column = new ColumnReader(store, 'company_sizes');
    this.#lastCompany = store.prepare('SELECT max(id) AS n FROM domains');
  }

  /** To be called after a write to the store. */
  invalidate(): void {
    this.#column.invalidate();
    this.#sizes = null;
    this.#unknown = null;
  }

  /** Reads the sizes, unless they are cached. To be called before anything that needs them. */
  *prepare(): Steps<void> {
    this.#sizes ??= yield* this.#read();
  }

  get sizes(): CompanySizes {
    assert(this.#sizes !== null, 'the headcounts were prepared');
    return this.#sizes;
  }

  get uncachedChunks(): number {
    return this.#sizes === null ? this.#column.zones().size : 0;
  }

  /** For companies: `into` and `among` are bitmaps of company ids. */
  addInRange(block: number, { min, max }: Bounds, into: Bitmap, among: Bitmap): void {
    const { sizes } = this;
    for (let word = 0; word < BLOCK / 32; word++) {
      const wanted = among[word] ?? 0;
      if (wanted !== 0)
        into[word] = (into[word] ?? 0) | (wanted & sizesInRange(sizes, block * BLOCK + word * 32, min - NO_HEADCOUNT, max - NO_HEADCOUNT));
    }
  }

  /** A new bitmap of the rows without a known headcount, unused rows included. @param words its length */
  *unknown(words: number): Steps<Bitmap> {
    if (this.#unknown?.length !== words) {
      const sizes = this.sizes;
      const found = new Uint32Array(words);
      for (let row = 0; row < words * 32; row += CHUNK) {
        const ids = this.#employers.chunk(row / CHUNK);
        for (let at = 0; at < CHUNK; at++) if ((sizes[ids[at] ?? 0] ?? 0) === 0) setBit(found, row + at);
        yield 0;
      }
      this.#unknown = found;
    }
    return this.#unknown.slice();
  }

  /**
   * The numbers of chunks for one page, as `PageChunk` says. The range from `least` to `most` may only shrink from chunk to chunk.
   */
  pageLevel(): PageChunk {
    const { sizes } = this;
    const codes = new Float64Array(CHUNK);
    /** A superset of the companies in the range that the page still needs; null: all companies. */
    let companies: Bitmap | null = null;
    let [words, refreshAt] = [0, REFRESH_WORDS];
    return (chunk, among, least, most) => {
      if (words >= refreshAt) {
        companies = companiesInRange(sizes, least - NO_HEADCOUNT, most - NO_HEADCOUNT);
        refreshAt *= REFRESH_GROWTH;
      }
      const ids = this.#employers.chunk(chunk);
      for (let from = 0; from < CHUNK; from += 32) {
        const wanted = among[(chunk * CHUNK + from) >>> 5] ?? 0;
        if (wanted === 0) continue;
        codes.fill(NaN, from, from + 32);
        const areFew = popcount32(wanted) <= FEW;
        if (!areFew) words++;
        const left = areFew || companies === null ? wanted : workingAt(ids, from, companies, wanted);
        for (let word = left; word !== 0; word &= word - 1) {
          const at = from + 31 - Math.clz32(word & -word);
          codes[at] = sizes[ids[at] ?? 0] ?? 0;
        }
      }
      // Code 0 stands for an unknown headcount.
      return { least: NO_HEADCOUNT + 1, unit: 1, codes };
    };
  }

  /** Not counted as work: the result is cached. */
  *#read(): Steps<CompanySizes> {
    const zones = this.#column.zones();
    const length = Number(this.#lastCompany.get()?.['n'] ?? 0) + CHUNK;
    const areSmall = [...zones.values()].every(({ least, most }) => least > NO_HEADCOUNT && most < MOST_IN_32_BITS);
    const sizes = areSmall ? new Int32Array(length) : new Float64Array(length);
    for (const chunk of zones.keys()) {
      const { least, unit, codes } = this.#column.chunk(chunk);
      for (let at = 0; at < CHUNK; at++) {
        const code = codes[at] ?? 0;
        if (code !== 0) sizes[chunk * CHUNK + at] = least + (code - 1) * unit - NO_HEADCOUNT;
      }
      yield 0;
    }
    this.#column.invalidate();
    this.#employers.aliases.copySizesToAliases(sizes);
    return sizes;
  }
}

function companiesInRange(sizes: CompanySizes, least: number, most: number): Bitmap {
  const found = emptyBitmap(sizes.length);
  for (let first = 0; first < sizes.length; first += 32) found[first >>> 5] = sizesInRange(sizes, first, least, most);
  return found;
}

/** Which of the 32 companies from `first` on have a size, as in `CompanySizes`, from `least` to `most`: as 32 bits. */
function sizesInRange(sizes: CompanySizes, first: number, least: number, most: number): number {
  let word = 0;
  for (let company = Math.min(first + 32, sizes.length) - 1; company >= first; company--) {
    const size = sizes[company] ?? 0;
    word = (word << 1) | (Number(size >= least) & Number(size <= most));
  }
  return word;
}
