import { spread, upperBits } from './key-hash.ts';

/**
 * A blocked Bloom filter over key hashes, of constant size (Putze, Sanders, Singler 2007). It says without disk access that most absent
 * keys are absent, and never says so about an added key. Pure.
 */

/** 16 MiB. With 10 million keys, about one absent key in 150 needs a disk lookup. */
const WORDS = 1 << 22;
const BLOCK_WORDS = 8;
const BLOCK_MASK = WORDS / BLOCK_WORDS - 1;
/** Derives a second hash from the first. */
const OTHER_BITS = 0x9e3779b9;

export class BloomFilter {
  readonly #words = new Uint32Array(WORDS);

  /** @param hash from `lookupHash` */
  add(hash: number): void {
    this.#touch(hash, true);
  }

  /** True when the hash was never added. False when it may have been. */
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
