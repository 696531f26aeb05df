import { upperBits } from './key-hash.ts';

const EMPTY = -1;
const FIRST_CAPACITY = 4_096;

/** The latest answers by hash, until the index on disk has them: a hash table in two flat arrays. Pure. */
export class RecentAnswers {
  #hashes = new Float64Array(FIRST_CAPACITY).fill(EMPTY);
  #ids = new Float64Array(FIRST_CAPACITY);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(hash: number, id: number): void {
    if (this.#size * 2 >= this.#hashes.length) this.#grow();
    this.#place(hash, id);
    this.#size++;
  }

  /** Rows with this hash, the newest first. */
  idsOf(hash: number): number[] {
    const ids: number[] = [];
    const mask = this.#hashes.length - 1;
    for (let slot = upperBits(hash) & mask; this.#hashes[slot] !== EMPTY; slot = (slot + 1) & mask) {
      if (this.#hashes[slot] === hash) ids.push(this.#ids[slot] as number);
    }
    return ids.length > 1 ? ids.sort((a, b) => b - a) : ids;
  }

  /** The hashes in ascending order, one for each answer. */
  sortedHashes(): Float64Array {
    return this.#hashes.filter((hash) => hash !== EMPTY).sort();
  }

  #place(hash: number, id: number): void {
    const mask = this.#hashes.length - 1;
    let slot = upperBits(hash) & mask;
    while (this.#hashes[slot] !== EMPTY) slot = (slot + 1) & mask;
    this.#hashes[slot] = hash;
    this.#ids[slot] = id;
  }

  #grow(): void {
    const hashes = this.#hashes;
    const ids = this.#ids;
    this.#hashes = new Float64Array(hashes.length * 2).fill(EMPTY);
    this.#ids = new Float64Array(hashes.length * 2);
    for (let slot = 0; slot < hashes.length; slot++) {
      if (hashes[slot] !== EMPTY) this.#place(hashes[slot] as number, ids[slot] as number);
    }
  }
}
