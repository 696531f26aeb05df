/** Sizes of the parts of a file in S3. Pure. */
import { LARGEST_PART, SMALLEST_PART } from '../s3/limits.ts';

const MIB = 1024 * 1024;
const FIRST_PART_BYTES = 8 * MIB;
const PARTS_OF_ONE_SIZE = 1_000;
/** A copied part is not held in memory, so it may be larger than an uploaded one. Smaller parts are copied concurrently. */
const COPIED_FOR_UPLOADED = 8;

/**
 * The offset at which part `index` (from 0) ends: parts of 8 MiB, doubled after each 1,000 parts.
 * A part is held in memory until it is uploaded, so parts stay small as long as possible: 55 GiB need parts of 32 MiB at most. The limit of
 * S3, 10,000 parts, holds more than its largest object of 5 TiB.
 */
export function partBytes(index: number): number {
  return FIRST_PART_BYTES * 2 ** Math.floor(index / PARTS_OF_ONE_SIZE);
}

/** Bytes within an object. */
interface PartRange {
  readonly at: number;
  readonly bytes: number;
}

/**
 * The ranges of another object that can be copied as parts, counted from its end backwards. The bytes before them must be uploaded, if only
 * to fill the open part.
 * Empty when everything must be uploaded. @param open bytes of the open part @param parts complete parts before it
 */
export function copiedRanges({ at, bytes }: PartRange, open: number, parts: number): PartRange[] {
  const uploaded = open === 0 ? 0 : Math.max(0, SMALLEST_PART + 1 - open);
  const ranges: PartRange[] = [];
  let left = bytes - uploaded;
  if (left <= SMALLEST_PART) return [];
  for (let index = parts + (open === 0 ? 0 : 1); left > 0; index++) {
    const most = Math.min(COPIED_FOR_UPLOADED * partBytes(index), LARGEST_PART - SMALLEST_PART);
    // Does not leave a rest that would be too small for a part.
    const range = { at: at + bytes - left, bytes: left <= most + SMALLEST_PART ? left : most };
    ranges.push(range);
    left -= range.bytes;
  }
  return ranges;
}

/**
 * The ranges of a finished object of that size, for reopening it. Each but the last is larger than S3's smallest part, and they are few.
 */
export function reopenedParts(size: number): PartRange[] {
  const each = Math.max(64 * MIB, Math.ceil(size / 4_000));
  const count = Math.max(1, Math.floor(size / each));
  return Array.from({ length: count }, (_, i) => ({ at: i * each, bytes: i === count - 1 ? size - i * each : each }));
}
