/** How many work where each person works. What a company has is not written to all who work there: their company's number leads to it. */
import type { Store } from '../store/store.ts';
import { emptyBits, setBit, type Bits } from './bitmap.ts';
import { ColumnReader } from './columns.ts';
import { workingAt, type EmployerReader } from './employers.ts';
import { CHUNK, type Coded } from './packed.ts';
import { NO_HEADCOUNT } from './sort-keys.ts';

/** After so many chunks, and so many times as many, it is settled anew which companies are still asked for. */
const CHUNKS_BETWEEN = 8;
const MOST_IN_32_BITS = 2 ** 31 - 2;

/** Of each company its size and one more, 0 where none is known. */
type Sizes = Int32Array | Float64Array;

export class Headcounts {
  readonly #employers: EmployerReader;
  readonly #column: ColumnReader;
  readonly #codes = new Float64Array(CHUNK);
  readonly #lastCompany;
  #sizes: Sizes | null = null;
  /** Those of a size that is asked for, and maybe others; null: all. */
  #companies: Bits | null = null;
  #chunks = 0;

  constructor(store: Store, employers: EmployerReader) {
    this.#employers = employers;
    this.#column = new ColumnReader(store, 'company_sizes');
    this.#lastCompany = store.prepare('SELECT max(id) AS n FROM domains');
  }

  /** Another page is asked for. */
  begin(): void {
    this.#companies = null;
    this.#chunks = 0;
  }

  /** The store has changed. */
  forget(): void {
    this.#sizes = null;
  }

  /** As `MainLevel` says; what is asked for of one chunk holds all that is asked for of the next. */
  chunk(chunk: number, among: Bits, least: number, most: number): Coded {
    this.#sizes ??= this.#read();
    const sizes = this.#sizes;
    // For few chunks that is not worth the while.
    if (this.#chunks >= CHUNKS_BETWEEN && Number.isInteger(Math.log2(this.#chunks) / Math.log2(CHUNKS_BETWEEN))) this.#companies = companiesBetween(sizes, least - NO_HEADCOUNT, most - NO_HEADCOUNT);
    this.#chunks++;
    const [codes, ids, companies] = [this.#codes, this.#employers.chunk(chunk), this.#companies];
    for (let from = 0; from < CHUNK; from += 32) {
      const wanted = among[(chunk * CHUNK + from) >>> 5] ?? 0;
      if (wanted === 0) continue;
      if (companies !== null && workingAt(ids, from, companies, wanted) === 0) codes.fill(NaN, from, from + 32);
      else for (let at = from; at < from + 32; at++) codes[at] = sizes[ids[at] ?? 0] ?? 0;
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
    return sizes;
  }
}

function companiesBetween(sizes: Sizes, least: number, most: number): Bits {
  const found = emptyBits(sizes.length);
  for (let company = 0; company < sizes.length; company++) {
    const size = sizes[company] ?? 0;
    if (size >= least && size <= most) setBit(found, company);
  }
  return found;
}
