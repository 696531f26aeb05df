/** The program's one LRU cache: a map with a bound, which evicts the entries that were used longest ago. */
import { LRUCache } from 'lru-cache';

export class LruMap<Key extends string | number, Value extends object> {
  readonly #entries: LRUCache<Key, Value> | null;

  /** @param maxSize bound of the sum of all sizes: a number of entries, or bytes; 0 stores nothing */
  constructor(maxSize: number) {
    // `maxSize` in place of the option `max`, which would reserve memory for all entries at once.
    this.#entries = maxSize > 0 ? new LRUCache({ maxSize }) : null;
  }

  get size(): number {
    return this.#entries?.size ?? 0;
  }

  /** Counts as a use. */
  get(key: Key): Value | undefined {
    return this.#entries?.get(key);
  }

  /** Counts as no use. */
  peek(key: Key): Value | undefined {
    return this.#entries?.peek(key);
  }

  /** An entry larger than the bound is not stored. @param size a positive integer */
  set(key: Key, value: Value, size = 1): void {
    this.#entries?.set(key, value, { size });
  }

  /** Gives the entry of `key` another size, which counts as a use. Returns whether the map still has it. */
  resize(key: Key, size: number): boolean {
    const value = this.#entries?.peek(key);
    if (value === undefined) return false;
    // `set` leaves the size of an entry as it is when the value is the same.
    this.#entries?.delete(key);
    this.#entries?.set(key, value, { size });
    return this.#entries?.has(key) === true;
  }

  delete(key: Key): void {
    this.#entries?.delete(key);
  }

  clear(): void {
    this.#entries?.clear();
  }
}
