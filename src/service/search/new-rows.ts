/** Which of a table's terms new rows have, turned round: which rows each term has. Pure. */
import type { TermSpan } from './term-table.ts';

const FIRST_SIZE = 65_536;

/** Most of what an import writes. A list of pairs that is put in order at the end costs a fraction of finding each term's own list for each row. */
export class NewRows {
  #count = 0;
  #numbers = new Uint32Array(FIRST_SIZE);
  #rows = new Uint32Array(FIRST_SIZE);
  #most = 0;

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** @param numbers of a table, of which the row has those of `span` */
  add(row: number, numbers: Uint32Array, { from, to }: TermSpan): void {
    if (this.#count + to - from > this.#numbers.length) this.#grow(to - from);
    for (let at = from; at < to; at++) {
      const number = numbers[at] as number;
      if (number > this.#most) this.#most = number;
      this.#numbers[this.#count] = number;
      this.#rows[this.#count++] = row;
    }
  }

  /** Tells the rows of each term that any has, in the order in which they were added, and forgets them. */
  take(tell: (number: number, rows: Uint32Array) => void): void {
    const ends = this.#placesByNumber();
    const ordered = new Uint32Array(this.#count);
    for (let at = this.#count - 1; at >= 0; at--) {
      const number = this.#numbers[at] as number;
      const place = (ends[number] as number) - 1;
      ends[number] = place;
      ordered[place] = this.#rows[at] as number;
    }
    // Where the next one begins is where each ends, now that all are put.
    const starts = ends;
    for (let number = 0; number <= this.#most; number++) {
      const [from, to] = [starts[number] as number, starts[number + 1] as number];
      if (to > from) tell(number, ordered.subarray(from, to));
    }
    [this.#count, this.#most] = [0, 0];
  }

  /** Of each number where its rows end among those of all; one more at the end. */
  #placesByNumber(): Uint32Array {
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
