/** The terms of many records as numbers, so that each different term is told and looked up once: a form that is cheap to hand from thread to thread. Pure. */
import { era, termText, tidy } from './dictionary.ts';

/** The different terms of some records, and as numbers of these what each record has, one record after the other. */
export interface TermTable {
  readonly terms: readonly string[];
  readonly numbers: Uint32Array<ArrayBuffer>;
}

/** The terms of one record: where they stand in `numbers` of a table. */
export interface TermSpan {
  readonly from: number;
  readonly to: number;
}

/** Stands for terms that were not looked for ahead. */
export const LEFT_OUT: TermSpan = { from: -1, to: -1 };

export function isLeftOut({ from }: TermSpan): boolean {
  return from === LEFT_OUT.from;
}

/** Collects records' terms for a table. */
export class TermCollector {
  #era = era();
  /** By the term's number in the dictionary: its number in the table and one more, 0 when it has none yet; and the last record that had it. */
  #numberOf = new Uint32Array(1_024);
  #recordOf = new Uint32Array(1_024);
  #record = 0;
  #used: number[] = [];
  #numbers = new Uint32Array(1_024);
  #count = 0;
  #terms: string[] = [];

  /** Adds a record with these terms of the dictionary, each once, in the order in which they are first named. */
  add(terms: readonly number[]): TermSpan {
    if (this.#era !== era()) this.#beginEra();
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

  /** The table of what was added since the last one. */
  take(): TermTable {
    const table = { terms: this.#terms, numbers: this.#numbers.slice(0, this.#count) };
    for (const term of this.#used) this.#numberOf[term] = 0;
    this.#used = [];
    this.#terms = [];
    this.#count = 0;
    tidy();
    return table;
  }

  /** The dictionary's numbers mean other terms now. */
  #beginEra(): void {
    this.#era = era();
    this.#numberOf.fill(0);
    this.#used = [];
  }
}

function grown(numbers: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const more = new Uint32Array(numbers.length * 2);
  more.set(numbers);
  return more;
}
