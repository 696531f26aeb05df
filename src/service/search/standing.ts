/** Somebody, or where a page ended, as far as they were looked at: what it takes to say which of two is first. */
import type { After, Order } from './order.ts';
import { CHUNK } from './packed.ts';

export interface Place extends After {
  readonly seq: number;
}

export type ReadPlace = (seq: number, main: number) => Place;

/** One of those who were found. What tells them from others is read when it is asked for: of those of whom it is read for many, from the column; else what it was made of is. */
export class Somebody {
  readonly #order: Order;
  readonly #read: ReadPlace;
  readonly #numbers: number[];
  #seq: number;
  #areMany = false;
  #place: Place | null = null;

  constructor(order: Order, read: ReadPlace, seq = 0, numbers: readonly number[] = []) {
    this.#order = order;
    this.#read = read;
    this.#seq = seq;
    this.#numbers = [...numbers];
  }

  /** @param main what is sorted by @param areMany whether others of the same chunk are looked at as well */
  become(seq: number, main: number, areMany: boolean): void {
    this.#seq = seq;
    this.#numbers.length = 1;
    this.#numbers[0] = main;
    this.#areMany = areMany;
    this.#place = null;
  }

  /** To be kept: what is not known of them yet is read of them alone. */
  copy(): Somebody {
    const copy = new Somebody(this.#order, this.#read, this.#seq, this.#numbers);
    copy.#place = this.#place;
    return copy;
  }

  /** Of what is sorted by, 0, and of what comes next, from 1; asked for one by one. */
  number(level: number): number {
    return (this.#numbers[level] ??= this.#readNumber(level));
  }

  get place(): Place {
    this.#place ??= this.#read(this.#seq, this.number(0));
    return this.#place;
  }

  #readNumber(level: number): number {
    const next = this.#order.next[level - 1];
    if (next === undefined) return 0;
    if (!this.#areMany || this.#place !== null) return next.numberOf(this.place);
    const { least, unit, codes } = next.chunk(Math.floor(this.#seq / CHUNK));
    return least + ((codes[this.#seq % CHUNK] ?? 0) - 1) * unit;
  }
}

/** Where the page before ended. */
export class Edge {
  readonly place: After;
  readonly #numbers: readonly number[];

  constructor(order: Order, place: After) {
    this.place = place;
    this.#numbers = [order.main, ...order.next].map((level) => level.numberOf(place));
  }

  number(level: number): number {
    return this.#numbers[level] ?? 0;
  }
}
