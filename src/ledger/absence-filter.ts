import { spread } from './key-hash.ts';

/**
 * Tells for most keys that are not in the ledger that they are not, without asking the disk: a blocked Bloom filter
 * (Putze, Sanders, Singler 2007) of constant size. It never says "absent" of a key that was added. Pure.
 */

/** 16 MiB: at 10 million keys about one absent key in 150 has to be looked up after all. */
const WORDS = 1 << 22;
const BLOCK_WORDS = 8;
const BLOCK_MASK = WORDS / BLOCK_WORDS - 1;
/** Makes of one hash a second one. */
const OTHER_BITS = 0x9e3779b9;

export class AbsenceFilter {
  readonly #words = new Uint32Array(WORDS);

  add(scope: number, key: string): void {
    this.#touch(scope, key, true);
  }

  /** True: the key was never added. False: it may have been. */
  isAbsent(scope: number, key: string): boolean {
    return !this.#touch(scope, key, false);
  }

  /** Whether all of the key's bits are set; sets them when asked to. */
  #touch(scope: number, key: string, set: boolean): boolean {
    // FNV-1a over UTF-16 units: fast on short strings. Two keys of 10 million share its 32 bits as seldom as 1 in 400.
    let hash = 0x811c9dc5 ^ scope;
    for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
    const block = (spread(hash) & BLOCK_MASK) * BLOCK_WORDS;
    let bits = spread(hash ^ OTHER_BITS);
    let all = true;
    // One bit in each of six words of the block: 5 bits choose it.
    for (let word = 0; word < 6; word++) {
      const bit = 1 << (bits & 31);
      const at = block + word + (hash & 1) * 2;
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
