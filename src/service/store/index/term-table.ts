/** The terms of a batch of records as numbers, cheap to move between threads: each distinct term is stored and looked up once. Pure. */
import { evictIfFull, generation, termText } from './term-dictionary.ts';

/** The distinct terms of some records, and for each record its terms as indexes into them. */
export interface TermTable {
  readonly terms: readonly string[];
  readonly numbers: Uint32Array<ArrayBuffer>;
}

/** The terms of one record: a range of `numbers` of a table. */
export interface TermSpan {
  readonly from: number;
  readonly to: number;
}

/** The span of a record whose terms were not computed. */
export const SKIPPED: TermSpan = { from: -1, to: -1 };

export function isSkipped({ from }: TermSpan): boolean {
  return from === SKIPPED.from;
}

/** Builds a table. */
export class TermCollector {
  #generation = generation();
  /** By number of the dictionary: index in the table + 1, or 0; and the last record with the term. */
  #numberOf = new Uint32Array(1_024);
  #recordOf = new Uint32Array(1_024);
  #record = 0;
  #used: number[] = [];
  #numbers = new Uint32Array(1_024);
  #count = 0;
  #terms: string[] = [];

  /** Adds a record with these terms of the dictionary. Duplicates are dropped, and the order of first use stays. */
  add(terms: readonly number[]): TermSpan {
    if (this.#generation !== generation()) this.#beginGeneration();
    const from = this.#count;
    const record = ++this.#record;
    while (this.#count + terms.length > this.#numbers.length) this.#numbers = grown(this.#numbers);
    for (const term of terms) {
      while (term >= this.#numberOf.length) [this.#numberOf, this.#recordOf] = [grown(this.#numberOf), grown(this.#recordOf)];
      if (this.#recordOf[term] === record) continue;
      this.#recordOf[term] = record;
      let number = this.#numberOf[term] as number;
      if (number === 0) {
        number = this.#terms.push(termText(term));
        this.#numberOf[term] = number;
        this.#used.push(term);
      }
      this.#numbers[this.#count++] = number - 1;
    }
    return { from, to: this.#count };
  }

  /** The table of the records since the last call. */
  take(): TermTable {
    const table = { terms: this.#terms, numbers: this.#numbers.slice(0, this.#count) };
    for (const term of this.#used) this.#numberOf[term] = 0;
    this.#used = [];
    this.#terms = [];
    this.#count = 0;
    evictIfFull();
    return table;
  }

  /** The dictionary was emptied, so its numbers mean other terms. */
  #beginGeneration(): void {
    this.#generation = generation();
    this.#numberOf.fill(0);
    this.#used = [];
  }
}

function grown(numbers: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const more = new Uint32Array(numbers.length * 2);
  more.set(numbers);
  return more;
}
