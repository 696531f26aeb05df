/**
 * A 52-bit hash of scope and key, which a number holds exactly. It finds rows but never distinguishes keys: the row has the key itself.
 * FNV-1a twice with different multipliers, spread by MurmurHash3's finaliser. Pure.
 */
export function lookupHash(scope: number, key: string): number {
  let a = 0x811c9dc5 ^ scope;
  let b = 0x9747b28c ^ scope;
  for (let i = 0; i < key.length; i++) {
    const unit = key.charCodeAt(i);
    a = Math.imul(a ^ unit, 0x01000193);
    b = Math.imul(b ^ unit, 0x5bd1e995);
    b ^= b >>> 15;
  }
  return spread(a) * LOW_BITS + (spread(b) & (LOW_BITS - 1));
}

/** The upper 32 bits of a hash, as an integer. */
export function upperBits(hash: number): number {
  return Math.floor(hash / LOW_BITS);
}

const LOW_BITS = 2 ** 20;
/** The upper bound of hashes, exclusive. */
export const HASHES = 2 ** 32 * LOW_BITS;

/** Spreads 32 bits over all of them (the finaliser of MurmurHash3). */
export function spread(bits: number): number {
  let h = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
