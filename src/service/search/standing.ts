/** Somebody, or where a page ended, as far as they were looked at: what it takes to say which of two is first. */
import type { After, Order } from './order.ts';
import { CHUNK, NO_NUMBERS } from './packed.ts';

export interface Place extends After {
  readonly seq: number;
}

export type ReadPlace = (seq: number, main: number) => Place;

/** One of those who were found. What tells them from others is read when it is asked for. */
export class Somebody {
  readonly #order: Order;
  readonly #read: ReadPlace;
  readonly #numbers: number[] = [];
  #seq = 0;
  #known = 0;
  #place: Place | null = null;

  constructor(order: Order, read: ReadPlace) {
    this.#order = order;
    this.#read = read;
  }

  become(seq: number, main: number): void {
    this.#seq = seq;
    this.#numbers[0] = main;
    this.#known = 1;
    this.#place = null;
  }

  copy(): Somebody {
    const copy = new Somebody(this.#order, this.#read);
    copy.become(this.#seq, this.#numbers[0] ?? 0);
    return copy;
  }

  /** Of what is sorted by, 0, and of what comes next, from 1; asked for one by one. */
  number(level: number): number {
    if (level >= this.#known) {
      const { least, unit, codes } = this.#order.next[level - 1]?.chunk(Math.floor(this.#seq / CHUNK)) ?? NO_NUMBERS;
      this.#numbers[level] = least + ((codes[this.#seq % CHUNK] ?? 0) - 1) * unit;
      this.#known = level + 1;
    }
    return this.#numbers[level] ?? 0;
  }

  get place(): Place {
    this.#place ??= this.#read(this.#seq, this.number(0));
    return this.#place;
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
