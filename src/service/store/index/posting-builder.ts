/** Inverts new rows: takes the terms of each row, and gives the rows of each term. Pure. */
import type { TermSpan } from './term-table.ts';

const FIRST_SIZE = 65_536;

/** Sorts pairs of term and row by counting: far cheaper than finding each term's list for each row. Imports write mostly new rows. */
export class PostingBuilder {
  #count = 0;
  #numbers = new Uint32Array(FIRST_SIZE);
  #rows = new Uint32Array(FIRST_SIZE);
  #most = 0;

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** @param numbers of a term table; the row has those of `span` */
  add(row: number, numbers: Uint32Array, { from, to }: TermSpan): void {
    if (this.#count + to - from > this.#numbers.length) this.#grow(to - from);
    for (let at = from; at < to; at++) {
      const number = numbers[at] as number;
      if (number > this.#most) this.#most = number;
      this.#numbers[this.#count] = number;
      this.#rows[this.#count++] = row;
    }
  }

  /** Calls `visit` with the rows of each term, in the order of `add`, and empties the builder. */
  take(visit: (number: number, rows: Uint32Array) => void): void {
    const ends = this.#endsByNumber();
    const ordered = new Uint32Array(this.#count);
    for (let at = this.#count - 1; at >= 0; at--) {
      const number = this.#numbers[at] as number;
      const end = (ends[number] as number) - 1;
      ends[number] = end;
      ordered[end] = this.#rows[at] as number;
    }
    // Each end has moved down to the start of its term.
    const starts = ends;
    for (let number = 0; number <= this.#most; number++) {
      const [from, to] = [starts[number] as number, starts[number + 1] as number];
      if (to > from) visit(number, ordered.subarray(from, to));
    }
    [this.#count, this.#most] = [0, 0];
  }

  /** For each term the end of its rows in the sorted list; one more entry at the end. */
  #endsByNumber(): Uint32Array {
    const ends = new Uint32Array(this.#most + 2);
    for (let at = 0; at < this.#count; at++) {
      const number = this.#numbers[at] as number;
      ends[number] = (ends[number] as number) + 1;
    }
    let sum = 0;
    for (let number = 0; number < ends.length; number++) {
      sum += ends[number] as number;
      ends[number] = sum;
    }
    return ends;
  }

  #grow(more: number): void {
    const size = 2 ** Math.ceil(Math.log2(this.#count + more));
    const [numbers, rows] = [this.#numbers, this.#rows];
    this.#numbers = new Uint32Array(size);
    this.#rows = new Uint32Array(size);
    this.#numbers.set(numbers);
    this.#rows.set(rows);
  }
}
