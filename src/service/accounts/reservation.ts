import type { ActiveKey, KeyRing, Use } from './key-ring.ts';

/**
 * The cost of a chunk of a batch job. It is reserved before the results are written, so that no other request spends it meanwhile.
 * `write` and `written` make it spent; `release` gives it back when the chunk is not done after all.
 */
export class Reservation {
  readonly #keys: KeyRing;
  readonly #key: ActiveKey;
  readonly use: Use;

  /** @param use what is left of the key, at most (`KeyRing.left`) */
  constructor(keys: KeyRing, key: ActiveKey, use: Use) {
    this.#keys = keys;
    this.#key = key;
    this.use = use;
    keys.reserve(key, use);
  }

  /** Within the transaction that also writes the results. */
  write(): void {
    this.#keys.writeReserved(this.#key, this.use);
  }

  /** After that transaction was committed. */
  written(): void {
    this.#keys.reservedWritten(this.#key, this.use);
  }

  release(): void {
    this.#keys.release(this.#key, this.use);
  }
}
