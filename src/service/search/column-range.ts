/** Rows of a block whose number is within bounds, by numbers that stand in memory: of rows that are looked at, no set of any digit is read. */
import { BLOCK, bitsOf, isEmptyBetween, type Bits } from './bitmap.ts';
import type { ColumnReader } from './columns.ts';
import type { NumberName } from './numbers.ts';
import { CHUNK, codesWithin, type Coded } from './packed.ts';

const WORDS_A_CHUNK = CHUNK / 32;
const CHUNKS_A_BLOCK = BLOCK / CHUNK;

export interface Within {
  readonly min: number;
  readonly max: number;
}

/** Numbers of rows that are kept in memory anyway, as people are sorted by them. */
export interface NumbersAtHand {
  /** Blocks of sets in whose time what is not kept of them is read. */
  readonly unread: number;
  /** Adds those of `among`, who all have such a number, to a set of the block. @param within as `keptNumber` has them; `max` may be Infinity */
  addWithin(block: number, within: Within, into: Bits, among: Bits): void;
}

/** By the name of the number; of others the digits are read. */
export type AtHand = Readonly<Partial<Record<NumberName, NumbersAtHand>>>;

/** Adds those of `among`, who all have a number, to a set of the block. A chunk in which none of them is, or of which it is known that all or none are within, is not read. */
export function addWithin(column: ColumnReader, block: number, within: Within, into: Bits, among: Bits): void {
  const extents = column.extents();
  for (let index = 0; index < CHUNKS_A_BLOCK; index++) {
    const [from, to] = [index * WORDS_A_CHUNK, (index + 1) * WORDS_A_CHUNK];
    const chunk = block * CHUNKS_A_BLOCK + index;
    const extent = extents.get(chunk);
    if (extent === undefined || extent.most < within.min || extent.least > within.max || isEmptyBetween(among, from, to)) continue;
    if (extent.least >= within.min && extent.most <= within.max) for (let word = from; word < to; word++) into[word] = (into[word] ?? 0) | (among[word] ?? 0);
    else addOfChunk(column.chunk(chunk), within, from, into, among);
  }
}

/** So many of 32 are looked at one by one. */
const FEW = 12;

function addOfChunk({ least, unit, codes }: Coded, { min, max }: Within, from: number, into: Bits, among: Bits): void {
  const low = Math.max(1, (min - least) / unit + 1);
  const high = (max - least) / unit + 1;
  for (let word = 0; word < WORDS_A_CHUNK; word++) {
    const wanted = among[from + word] ?? 0;
    if (wanted === 0) continue;
    let found = 0;
    if (bitsOf(wanted) > FEW) found = codesWithin(codes, word * 32, low, high);
    else {
      for (let left = wanted; left !== 0; left &= left - 1) {
        const bit = 31 - Math.clz32(left & -left);
        const code = codes[word * 32 + bit] ?? 0;
        found |= (Number(code >= low) & Number(code <= high)) << bit;
      }
    }
    into[from + word] = (into[from + word] ?? 0) | (found & wanted);
  }
}
