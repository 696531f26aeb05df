/** Bitmaps of row ids, and the stored form of a block: bits, or a list of 16-bit numbers (the containers of roaring bitmaps). Pure. */

/** Rows of one stored block. */
export const BLOCK = 65_536;
const WORDS_PER_BLOCK = BLOCK / 32;
/** A block with this many rows is stored as bits, one with fewer rows as a list. */
const LIST_MAX = BLOCK / 16;

/** Bit n stands for row n. */
export type Bitmap = Uint32Array<ArrayBuffer>;

/** An empty bitmap for rows below `size`, rounded up to complete blocks. */
export function emptyBitmap(size: number): Bitmap {
  return new Uint32Array(Math.ceil(size / BLOCK) * WORDS_PER_BLOCK);
}

export function setBit(bits: Bitmap, n: number): void {
  bits[n >>> 5] = (bits[n >>> 5] ?? 0) | (1 << (n & 31));
}

/** Changes `into`. Both have the same size, as in `and` and `andNot`. */
export function or(into: Bitmap, other: Bitmap): Bitmap {
  for (let i = 0; i < into.length; i++) into[i] = (into[i] ?? 0) | (other[i] ?? 0);
  return into;
}

export function and(into: Bitmap, other: Bitmap): Bitmap {
  for (let i = 0; i < into.length; i++) into[i] = (into[i] ?? 0) & (other[i] ?? 0);
  return into;
}

export function andNot(into: Bitmap, other: Bitmap): Bitmap {
  for (let i = 0; i < into.length; i++) into[i] = (into[i] ?? 0) & ~(other[i] ?? 0);
  return into;
}

export function countBits(bits: Bitmap): number {
  let count = 0;
  for (let i = 0; i < bits.length; i++) count += popcount32(bits[i] ?? 0);
  return count;
}

/** Whether a bitmap has at most this many rows. It stops counting there. */
export function hasAtMost(bits: Bitmap, most: number): boolean {
  let count = 0;
  for (let i = 0; i < bits.length && count <= most; i++) count += popcount32(bits[i] ?? 0);
  return count <= most;
}

/** Population count of 32 bits (H. S. Warren, Hacker's Delight, 5-1). */
export function popcount32(word: number): number {
  let x = word - ((word >>> 1) & 0x5555_5555);
  x = (x & 0x3333_3333) + ((x >>> 2) & 0x3333_3333);
  return Math.imul((x + (x >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
}

/** Whether the words from `from` to before `to` are 0. */
export function isEmptyBetween(bits: Bitmap, from: number, to: number): boolean {
  for (let i = from; i < to; i++) if ((bits[i] ?? 0) !== 0) return false;
  return true;
}

export function isEmptyBitmap(bits: Bitmap): boolean {
  return isEmptyBetween(bits, 0, bits.length);
}

/** The rows of a bitmap, ascending. */
export function* rowsIn(bits: Bitmap): Generator<number> {
  for (let i = 0; i < bits.length; i++) {
    for (let word = bits[i] ?? 0; word !== 0; word &= word - 1) yield i * 32 + (31 - Math.clz32(word & -word));
  }
}

/** Stored bytes as 32-bit words. SQLite's blobs may be unaligned, and are then copied. */
export function asWords<Memory extends ArrayBufferLike>(stored: Uint8Array<Memory>): Uint32Array<Memory | ArrayBuffer> {
  return stored.byteOffset % 4 === 0
    ? new Uint32Array(stored.buffer, stored.byteOffset, stored.length / 4)
    : new Uint32Array(stored.slice().buffer);
}

/** Adds a stored block to a bitmap. */
export function addBlock(stored: Uint8Array, block: number, into: Bitmap): void {
  if (stored.length === BLOCK / 8) {
    const words = asWords(stored);
    const from = block * WORDS_PER_BLOCK;
    for (let i = 0; i < WORDS_PER_BLOCK; i++) into[from + i] = (into[from + i] ?? 0) | (words[i] ?? 0);
    return;
  }
  for (let i = 0; i < stored.length; i += 2) setBit(into, block * BLOCK + ((stored[i] ?? 0) | ((stored[i + 1] ?? 0) << 8)));
}

/**
 * Applies changes to a stored block, in their order: n adds row n of the block, and -1 - n removes it. Null when no row is left.
 * @param stored null for a new block
 */
export function updateBlock(stored: Uint8Array | null, changes: readonly number[]): Uint8Array | null {
  return appended(stored, changes) ?? rebuilt(stored, changes);
}

/** The fast path for new rows: sets bits, or appends to a list. Null when the changes do more than that. */
function appended(stored: Uint8Array | null, changes: readonly number[]): Uint8Array | null {
  const length = stored?.length ?? 0;
  if (stored !== null && length === BLOCK / 8) {
    if (changes.some((change) => change < 0)) return null;
    const bits = stored.slice();
    for (const n of changes) bits[n >>> 3] = (bits[n >>> 3] ?? 0) | (1 << (n & 7));
    return bits;
  }
  if (length / 2 + changes.length >= LIST_MAX) return null;
  let last = stored === null ? -1 : (stored[length - 2] ?? 0) | ((stored[length - 1] ?? 0) << 8);
  const list = new Uint8Array(length + changes.length * 2);
  if (stored !== null) list.set(stored);
  let at = length;
  for (const n of changes) {
    if (n <= last) return null;
    last = n;
    list[at++] = n & 0xff;
    list[at++] = n >>> 8;
  }
  return at === 0 ? null : list;
}

function rebuilt(stored: Uint8Array | null, changes: readonly number[]): Uint8Array | null {
  const bits = emptyBitmap(BLOCK);
  if (stored !== null) addBlock(stored, 0, bits);
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
  for (const n of rowsIn(bits)) {
    list[at++] = n & 0xff;
    list[at++] = n >>> 8;
  }
  return list;
}
