import { spread, upperBits } from './key-hash.ts';

/**
 * Tells for most keys that are not in the ledger that they are not, without asking the disk: a blocked Bloom filter
 * (Putze, Sanders, Singler 2007) of constant size over key hashes. It never says "absent" of one that was added. Pure.
 */

/** 16 MiB: at 10 million keys about one absent key in 150 has to be looked up after all. */
const WORDS = 1 << 22;
const BLOCK_WORDS = 8;
const BLOCK_MASK = WORDS / BLOCK_WORDS - 1;
/** Makes of one hash a second one. */
const OTHER_BITS = 0x9e3779b9;

export class AbsenceFilter {
  readonly #words = new Uint32Array(WORDS);

  /** @param hash from `keyHash` */
  add(hash: number): void {
    this.#touch(hash, true);
  }

  /** True: the hash was never added. False: it may have been. */
  isAbsent(hash: number): boolean {
    return !this.#touch(hash, false);
  }

  /** Whether all of the hash's bits are set; sets them when asked to. */
  #touch(hash: number, set: boolean): boolean {
    const upper = upperBits(hash);
    // The lower bits choose the block (a bitwise operator takes them off a number of any size), the upper ones the bits in it.
    const block = (hash & BLOCK_MASK) * BLOCK_WORDS;
    let bits = spread(upper ^ OTHER_BITS);
    let all = true;
    // One bit in each of six words of the block: 5 bits choose it.
    for (let word = 0; word < 6; word++) {
      const bit = 1 << (bits & 31);
      const at = block + word + (upper & 1) * 2;
      if (((this.#words[at] as number) & bit) === 0) {
        if (!set) return false;
        all = false;
        this.#words[at] = (this.#words[at] as number) | bit;
      }
      bits >>>= 5;
    }
    return all;
  }
}
