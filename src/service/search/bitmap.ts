/** Sets of row numbers as bits, and how a block of them is kept. Pure. */

/** Row numbers in one kept block. */
export const BLOCK = 65_536;
const WORDS_A_BLOCK = BLOCK / 32;
/** A block with as many numbers as that is kept as bits, one with fewer as a list of 16-bit numbers. */
const LIST_MAX = BLOCK / 16;

/** Bit n is number n. */
export type Bits = Uint32Array<ArrayBuffer>;

/** An empty set that has room for numbers below `size`, rounded up to whole blocks. */
export function emptyBits(size: number): Bits {
  return new Uint32Array(Math.ceil(size / BLOCK) * WORDS_A_BLOCK);
}

export function setBit(bits: Bits, n: number): void {
  bits[n >>> 5] = (bits[n >>> 5] ?? 0) | (1 << (n & 31));
}

/** `into` and also `other`. Sets of one size. */
export function or(into: Bits, other: Bits): Bits {
  for (let i = 0; i < into.length; i++) into[i] = (into[i] ?? 0) | (other[i] ?? 0);
  return into;
}

export function and(into: Bits, other: Bits): Bits {
  for (let i = 0; i < into.length; i++) into[i] = (into[i] ?? 0) & (other[i] ?? 0);
  return into;
}

export function andNot(into: Bits, other: Bits): Bits {
  for (let i = 0; i < into.length; i++) into[i] = (into[i] ?? 0) & ~(other[i] ?? 0);
  return into;
}

export function countBits(bits: Bits): number {
  let count = 0;
  for (let i = 0; i < bits.length; i++) count += bitsOf(bits[i] ?? 0);
  return count;
}

/** Whether a set has so many numbers at the most; counts no further. */
export function hasAtMost(bits: Bits, most: number): boolean {
  let count = 0;
  for (let i = 0; i < bits.length && count <= most; i++) count += bitsOf(bits[i] ?? 0);
  return count <= most;
}

/** How many of 32. Pairs, fours, bytes: H. S. Warren, Hacker's Delight, 5-1. */
export function bitsOf(word: number): number {
  let x = word - ((word >>> 1) & 0x5555_5555);
  x = (x & 0x3333_3333) + ((x >>> 2) & 0x3333_3333);
  return Math.imul((x + (x >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
}

/** Whether a set has nothing in its words from `from` to before `to`. */
export function isEmptyBetween(bits: Bits, from: number, to: number): boolean {
  for (let i = from; i < to; i++) if ((bits[i] ?? 0) !== 0) return false;
  return true;
}

export function isEmpty(bits: Bits): boolean {
  return isEmptyBetween(bits, 0, bits.length);
}

/** The numbers in a set, in order. */
export function* numbersIn(bits: Bits): Generator<number> {
  for (let i = 0; i < bits.length; i++) {
    for (let word = bits[i] ?? 0; word !== 0; word &= word - 1) yield i * 32 + (31 - Math.clz32(word & -word));
  }
}

/** Kept bytes as the numbers of 32 bits that they are; blobs come without a promise of alignment. */
export function wordsOf<Memory extends ArrayBufferLike>(kept: Uint8Array<Memory>): Uint32Array<Memory | ArrayBuffer> {
  return kept.byteOffset % 4 === 0 ? new Uint32Array(kept.buffer, kept.byteOffset, kept.length / 4) : new Uint32Array(kept.slice().buffer);
}

/** Adds a kept block to a set. */
export function readBlock(kept: Uint8Array, block: number, into: Bits): void {
  if (kept.length === BLOCK / 8) {
    const words = wordsOf(kept);
    const from = block * WORDS_A_BLOCK;
    for (let i = 0; i < WORDS_A_BLOCK; i++) into[from + i] = (into[from + i] ?? 0) | (words[i] ?? 0);
    return;
  }
  for (let i = 0; i < kept.length; i += 2) setBit(into, block * BLOCK + ((kept[i] ?? 0) | ((kept[i + 1] ?? 0) << 8)));
}

/** A kept block (null: none yet) after changes in their order: n adds the number n, counted from the block's start, and -1 - n takes it out. Null when nothing is left. */
export function changeBlock(kept: Uint8Array | null, changes: readonly number[]): Uint8Array | null {
  return lengthened(kept, changes) ?? rebuilt(kept, changes);
}

/** The block where the changes only add: to bits, or behind all that a list has. That is what new rows do. Null: it is not so simple. */
function lengthened(kept: Uint8Array | null, changes: readonly number[]): Uint8Array | null {
  const length = kept?.length ?? 0;
  if (kept !== null && length === BLOCK / 8) {
    if (changes.some((change) => change < 0)) return null;
    const bits = kept.slice();
    for (const n of changes) bits[n >>> 3] = (bits[n >>> 3] ?? 0) | (1 << (n & 7));
    return bits;
  }
  if (length / 2 + changes.length >= LIST_MAX) return null;
  let last = kept === null ? -1 : (kept[length - 2] ?? 0) | ((kept[length - 1] ?? 0) << 8);
  const list = new Uint8Array(length + changes.length * 2);
  if (kept !== null) list.set(kept);
  let at = length;
  for (const n of changes) {
    if (n <= last) return null;
    last = n;
    list[at++] = n & 0xff;
    list[at++] = n >>> 8;
  }
  return at === 0 ? null : list;
}

function rebuilt(kept: Uint8Array | null, changes: readonly number[]): Uint8Array | null {
  const bits = emptyBits(BLOCK);
  if (kept !== null) readBlock(kept, 0, bits);
  for (const change of changes) {
    const n = change < 0 ? -1 - change : change;
    const word = bits[n >>> 5] ?? 0;
    bits[n >>> 5] = change < 0 ? word & ~(1 << (n & 31)) : word | (1 << (n & 31));
  }
  const count = countBits(bits);
  if (count === 0) return null;
  if (count >= LIST_MAX) {
    return new Uint8Array(bits.buffer);
  }
  const list = new Uint8Array(count * 2);
  let at = 0;
  for (const n of numbersIn(bits)) {
    list[at++] = n & 0xff;
    list[at++] = n >>> 8;
  }
  return list;
}
