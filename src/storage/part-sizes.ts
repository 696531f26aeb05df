/** How large the parts of a file in S3 are. Pure. */
import { LARGEST_PART, SMALLEST_PART } from '../s3/limits.ts';

const MIB = 1024 * 1024;
const FIRST_PART_BYTES = 8 * MIB;
const PARTS_OF_ONE_SIZE = 1_000;
/** A part that is copied is not held in memory; larger ones are fewer, smaller ones are copied side by side. */
const COPIED_FOR_UPLOADED = 8;

/**
 * Bytes after which part `index` (from 0) ends: 8 MiB, and twice as many after each 1,000 parts. A part is held in memory
 * until it is in S3, so they are small as long as that suffices: 55 GiB take parts of 32 MiB at most, and 10,000 parts,
 * which is all that S3 permits, hold more than its largest object of 5 TiB.
 */
export function partBytes(index: number): number {
  return FIRST_PART_BYTES * 2 ** Math.floor(index / PARTS_OF_ONE_SIZE);
}

/** Bytes in an object. */
export interface Range {
  readonly at: number;
  readonly bytes: number;
}

/**
 * What of a range of another object can be copied as parts, from its end backwards; what stands before that must be
 * uploaded, if only so that the open part becomes large enough to be a whole one. None: all of it.
 * @param open bytes of the open part
 * @param parts whole parts before it
 */
export function copiedRanges({ at, bytes }: Range, open: number, parts: number): Range[] {
  const uploaded = open === 0 ? 0 : Math.max(0, SMALLEST_PART + 1 - open);
  const ranges: Range[] = [];
  let left = bytes - uploaded;
  if (left <= SMALLEST_PART) return [];
  for (let index = parts + (open === 0 ? 0 : 1); left > 0; index++) {
    const most = Math.min(COPIED_FOR_UPLOADED * partBytes(index), LARGEST_PART - SMALLEST_PART);
    // None is left that would be too small.
    const range = { at: at + bytes - left, bytes: left <= most + SMALLEST_PART ? left : most };
    ranges.push(range);
    left -= range.bytes;
  }
  return ranges;
}

/** Of such ranges, a finished object of that size is gone on from. Each but the last is larger than S3's smallest part, and they are few. */
export function reopenedParts(size: number): Range[] {
  const each = Math.max(64 * MIB, Math.ceil(size / 4_000));
  const count = Math.max(1, Math.floor(size / each));
  return Array.from({ length: count }, (_, i) => ({ at: i * each, bytes: i === count - 1 ? size - i * each : each }));
}
