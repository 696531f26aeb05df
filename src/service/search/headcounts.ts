/** How many work where each person works. What a company has is not written to all who work there: their company's number leads to it. */
import type { Store } from '../store/store.ts';
import { emptyBits, setBit, type Bits } from './bitmap.ts';
import { ColumnReader } from './columns.ts';
import { EmployerReader, workingAt } from './employers.ts';
import { CHUNK, type Coded } from './packed.ts';
import { NO_HEADCOUNT } from './sort-keys.ts';

/** After so many chunks, and so many times as many, it is settled anew which companies are still asked for. */
const CHUNKS_BETWEEN = 8;

export class Headcounts {
  readonly #employers: EmployerReader;
  readonly #column: ColumnReader;
  readonly #codes = new Float64Array(CHUNK);
  readonly #lastCompany;
  /** Of each company its size and one more, 0 where none is known; NaN until it is asked for. */
  #sizes = new Float64Array(0);
  /** Those of a size that is asked for, and maybe others; null: all. */
  #companies: Bits | null = null;
  #chunks = 0;

  constructor(store: Store) {
    this.#employers = new EmployerReader(store);
    this.#column = new ColumnReader(store, 'company_sizes');
    this.#lastCompany = store.prepare('SELECT max(id) AS n FROM domains');
  }

  forget(): void {
    this.#column.forget();
    this.#sizes = new Float64Array(0);
    this.#companies = null;
    this.#chunks = 0;
  }

  /** As `MainLevel` says; what is asked for of one chunk holds all that is asked for of the next. */
  chunk(chunk: number, among: Bits, least: number, most: number): Coded {
    if (this.#chunks === 0) this.#sizes = new Float64Array((Math.floor(Number(this.#lastCompany.get()?.['n'] ?? 0) / CHUNK) + 1) * CHUNK).fill(NaN);
    // For few chunks that is not worth the while.
    else if (Number.isInteger(Math.log2(this.#chunks) / Math.log2(CHUNKS_BETWEEN))) this.#companies = this.#chunks < CHUNKS_BETWEEN ? null : this.#companiesBetween(least, most);
    this.#chunks++;
    const [codes, ids, companies] = [this.#codes, this.#employers.chunk(chunk), this.#companies];
    for (let from = 0; from < CHUNK; from += 32) {
      const wanted = among[(chunk * CHUNK + from) >>> 5] ?? 0;
      if (wanted === 0) continue;
      if (companies !== null && (workingAt(ids, from, companies) & wanted) === 0) codes.fill(NaN, from, from + 32);
      else for (let at = from; at < from + 32; at++) codes[at] = this.#size(ids[at] ?? 0);
    }
    // So that 0 stands for the headcount that is not known.
    return { least: NO_HEADCOUNT + 1, unit: 1, codes };
  }

  #size(company: number): number {
    const known = this.#sizes[company] ?? 0;
    if (!Number.isNaN(known)) return known;
    this.#read(Math.floor(company / CHUNK));
    return this.#sizes[company] ?? 0;
  }

  #companiesBetween(least: number, most: number): Bits {
    const sizes = this.#sizes;
    const found = emptyBits(sizes.length);
    for (let company = 0; company < sizes.length; company++) {
      const size = this.#size(company) + NO_HEADCOUNT;
      if (size >= least && size <= most) setBit(found, company);
    }
    return found;
  }

  #read(chunk: number): void {
    const { least, unit, codes } = this.#column.chunk(chunk);
    for (let at = 0; at < CHUNK; at++) {
      const code = codes[at] ?? 0;
      this.#sizes[chunk * CHUNK + at] = code === 0 ? 0 : least + (code - 1) * unit - NO_HEADCOUNT;
    }
  }
}
