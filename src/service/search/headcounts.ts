/** How many work where each person works. What a company has is not written to all who work there: their company's number leads to it. */
import type { Store } from '../store/store.ts';
import { BLOCK, bitsOf, emptyBits, setBit, type Bits } from './bitmap.ts';
import type { NumbersAtHand, Within } from './column-range.ts';
import { ColumnReader } from './columns.ts';
import { workingAt, type EmployerReader } from './employers.ts';
import type { Sizes } from './next-sizes.ts';
import { CHUNK, type Coded } from './packed.ts';
import { NO_HEADCOUNT } from './sort-keys.ts';

/** After so many times 32 people, and eight times as many, it is settled anew which companies are still asked for: for few people that is not worth the while. */
const WORDS_BETWEEN = 1_024;
const TIMES_BETWEEN = 8;
/** So many of 32 are looked at one by one. */
const FEW = 8;
const MOST_IN_32_BITS = 2 ** 31 - 2;

export class Headcounts implements NumbersAtHand {
  readonly #employers: EmployerReader;
  readonly #column: ColumnReader;
  readonly #codes = new Float64Array(CHUNK);
  readonly #lastCompany;
  #sizes: Sizes | null = null;
  #unknown: Bits | null = null;
  /** Those of a size that is asked for, and maybe others; null: all. */
  #companies: Bits | null = null;
  #words = 0;
  #nextWords = WORDS_BETWEEN;

  constructor(store: Store, employers: EmployerReader) {
    this.#employers = employers;
    this.#column = new ColumnReader(store, 'company_sizes');
    this.#lastCompany = store.prepare('SELECT max(id) AS n FROM domains');
  }

  /** Another page is asked for. */
  begin(): void {
    this.#companies = null;
    this.#words = 0;
    this.#nextWords = WORDS_BETWEEN;
  }

  /** The store has changed. */
  forget(): void {
    this.#column.forget();
    this.#sizes = null;
    this.#unknown = null;
  }

  get sizes(): Sizes {
    return (this.#sizes ??= this.#read());
  }

  get unread(): number {
    return this.#sizes === null ? this.#column.extents().size : 0;
  }

  /** Of companies. */
  addWithin(block: number, { min, max }: Within, into: Bits, among: Bits): void {
    const { sizes } = this;
    for (let word = 0; word < BLOCK / 32; word++) {
      const wanted = among[word] ?? 0;
      if (wanted !== 0) into[word] = (into[word] ?? 0) | (wanted & between(sizes, block * BLOCK + word * 32, min - NO_HEADCOUNT, max - NO_HEADCOUNT));
    }
  }

  /** Of which people no headcount is known, and of which rows nobody is: a set of its own of `words` times 32 rows. */
  unknown(words: number): Bits {
    if (this.#unknown?.length !== words) {
      const sizes = this.sizes;
      const found = new Uint32Array(words);
      for (let row = 0; row < words * 32; row += CHUNK) {
        const ids = this.#employers.chunk(row / CHUNK);
        for (let at = 0; at < CHUNK; at++) if ((sizes[ids[at] ?? 0] ?? 0) === 0) setBit(found, row + at);
      }
      this.#unknown = found;
    }
    return this.#unknown.slice();
  }

  /** As `MainLevel` says; what is asked for of one chunk holds all that is asked for of the next. */
  chunk(chunk: number, among: Bits, least: number, most: number): Coded {
    const sizes = this.sizes;
    if (this.#words >= this.#nextWords) {
      this.#companies = companiesBetween(sizes, least - NO_HEADCOUNT, most - NO_HEADCOUNT);
      this.#nextWords *= TIMES_BETWEEN;
    }
    const [codes, ids, companies] = [this.#codes, this.#employers.chunk(chunk), this.#companies];
    for (let from = 0; from < CHUNK; from += 32) {
      const wanted = among[(chunk * CHUNK + from) >>> 5] ?? 0;
      if (wanted === 0) continue;
      codes.fill(NaN, from, from + 32);
      const isFew = bitsOf(wanted) <= FEW;
      if (!isFew) this.#words++;
      const left = isFew || companies === null ? wanted : workingAt(ids, from, companies, wanted);
      for (let word = left; word !== 0; word &= word - 1) {
        const at = from + 31 - Math.clz32(word & -word);
        codes[at] = sizes[ids[at] ?? 0] ?? 0;
      }
    }
    // So that 0 stands for the headcount that is not known.
    return { least: NO_HEADCOUNT + 1, unit: 1, codes };
  }

  #read(): Sizes {
    const extents = this.#column.extents();
    const length = Number(this.#lastCompany.get()?.['n'] ?? 0) + CHUNK;
    const areSmall = [...extents.values()].every(({ least, most }) => least > NO_HEADCOUNT && most < MOST_IN_32_BITS);
    const sizes = areSmall ? new Int32Array(length) : new Float64Array(length);
    for (const chunk of extents.keys()) {
      const { least, unit, codes } = this.#column.chunk(chunk);
      for (let at = 0; at < CHUNK; at++) {
        const code = codes[at] ?? 0;
        if (code !== 0) sizes[chunk * CHUNK + at] = least + (code - 1) * unit - NO_HEADCOUNT;
      }
    }
    this.#column.forget();
    this.#employers.aliases.spreadSizes(sizes);
    return sizes;
  }
}

function companiesBetween(sizes: Sizes, least: number, most: number): Bits {
  const found = emptyBits(sizes.length);
  for (let first = 0; first < sizes.length; first += 32) found[first >>> 5] = between(sizes, first, least, most);
  return found;
}

/** Which of the 32 companies from `first` on have a size, as in `Sizes`, from `least` to `most`, as bits. */
function between(sizes: Sizes, first: number, least: number, most: number): number {
  let word = 0;
  for (let company = Math.min(first + 32, sizes.length) - 1; company >= first; company--) {
    const size = sizes[company] ?? 0;
    word = (word << 1) | (Number(size >= least) & Number(size <= most));
  }
  return word;
}
