/**
 * A reorder buffer: results arrive in any order and leave in the order of their numbers. Pure.
 * Numbers start at 0 and each is put exactly once. The caller bounds the distance between the first missing number and the highest one.
 * That bounds memory, and the work that a crash repeats.
 */
import { assert } from './assert.ts';
export class ReorderBuffer<T> {
  #ring: (T | undefined)[];
  #mask: number;
  #next = 0;

  /** @param capacity a power of two; grows when a number lies further ahead */
  constructor(capacity = 1_024) {
    this.#ring = emptyRing(capacity);
    this.#mask = capacity - 1;
  }

  /** The number of results that have left: all numbers below this one. */
  get released(): number {
    return this.#next;
  }

  /** Takes result `number`, and emits all results that are now in order. */
  put(number: number, value: T, emit: (value: T, number: number) => void): void {
    assert(number >= this.#next, 'a result is put once');
    if (number === this.#next) {
      this.#next++;
      emit(value, number);
      this.#release(emit);
      return;
    }
    while (number - this.#next > this.#mask) this.#grow();
    this.#ring[number & this.#mask] = value;
  }

  #release(emit: (value: T, number: number) => void): void {
    for (;;) {
      const slot = this.#next & this.#mask;
      const value = this.#ring[slot];
      if (value === undefined) return;
      this.#ring[slot] = undefined;
      const number = this.#next++;
      emit(value, number);
    }
  }

  #grow(): void {
    const old = this.#ring;
    const oldMask = this.#mask;
    this.#ring = emptyRing(old.length * 2);
    this.#mask = this.#ring.length - 1;
    for (let number = this.#next; number <= this.#next + oldMask; number++) this.#ring[number & this.#mask] = old[number & oldMask];
  }
}

function emptyRing<T>(length: number): (T | undefined)[] {
  return Array.from({ length }, () => undefined);
}
