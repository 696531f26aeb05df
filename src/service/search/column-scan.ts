/** Evaluates a range by scanning a sort column. It needs no bit slices, and the column is in memory for sorting anyway. */
import type { Steps } from '../../util/steps.ts';
import type { SlicedField } from '../store/index/bit-slices.ts';
import { BLOCK, isEmptyBetween, popcount32, type Bitmap } from '../store/index/bitmap.ts';
import { CHUNK, codesInRange, type DecodedChunk } from '../store/index/packed-chunk.ts';
import type { ColumnReader } from '../store/index/sort-columns.ts';

const WORDS_PER_CHUNK = CHUNK / 32;
const CHUNKS_PER_BLOCK = BLOCK / CHUNK;

/** Both ends are included. */
export interface Bounds {
  readonly min: number;
  readonly max: number;
}

/** A column of numbers in memory that can evaluate ranges. */
export interface RangeScan {
  /** Chunks that a scan of all rows reads from the store. */
  readonly uncachedChunks: number;
  /** Reads what all scans need. To be called before `addInRange`. */
  prepare(): Steps<void>;
  /**
   * Adds the rows of `among` within `bounds` to a bitmap of the block. Each row of `among` has a number.
   * @param bounds in the units of `slicedValue`; `max` may be Infinity
   */
  addInRange(block: number, bounds: Bounds, into: Bitmap, among: Bitmap): void;
}

/** By field; ranges on other fields use bit slices. */
export type RangeScans = Readonly<Partial<Record<SlicedField, RangeScan>>>;

/** Adds the rows of `among` within `bounds`. The zone of a chunk (its least and greatest number) often decides without reading it. */
export function addInRange(column: ColumnReader, block: number, bounds: Bounds, into: Bitmap, among: Bitmap): void {
  const zones = column.zones();
  for (let index = 0; index < CHUNKS_PER_BLOCK; index++) {
    const [from, to] = [index * WORDS_PER_CHUNK, (index + 1) * WORDS_PER_CHUNK];
    const chunk = block * CHUNKS_PER_BLOCK + index;
    const zone = zones.get(chunk);
    if (zone === undefined || zone.most < bounds.min || zone.least > bounds.max || isEmptyBetween(among, from, to)) continue;
    if (zone.least >= bounds.min && zone.most <= bounds.max)
      for (let word = from; word < to; word++) into[word] = (into[word] ?? 0) | (among[word] ?? 0);
    else addFromChunk(column.chunk(chunk), bounds, from, into, among);
  }
}

/** Up to this many candidates among 32 rows are compared one by one. */
const FEW = 12;

function addFromChunk({ least, unit, codes }: DecodedChunk, { min, max }: Bounds, from: number, into: Bitmap, among: Bitmap): void {
  const low = Math.max(1, (min - least) / unit + 1);
  const high = (max - least) / unit + 1;
  for (let word = 0; word < WORDS_PER_CHUNK; word++) {
    const wanted = among[from + word] ?? 0;
    if (wanted === 0) continue;
    let found = 0;
    if (popcount32(wanted) > FEW) found = codesInRange(codes, word * 32, low, high);
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
