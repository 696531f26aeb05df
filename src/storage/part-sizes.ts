/** How large the parts of a file in S3 are. Pure. */

const MIB = 1024 * 1024;
const FIRST_PART_BYTES = 8 * MIB;
const PARTS_OF_ONE_SIZE = 1_000;

/**
 * Bytes after which part `index` (from 0) ends: 8 MiB, and twice as many after each 1,000 parts. A part is held in memory
 * until it is in S3, so they are small as long as that suffices: 55 GiB take parts of 32 MiB at most, and 10,000 parts,
 * which is all that S3 permits, hold more than its largest object of 5 TiB.
 */
export function partBytes(index: number): number {
  return FIRST_PART_BYTES * 2 ** Math.floor(index / PARTS_OF_ONE_SIZE);
}

/** Of such ranges, a finished object of that size is gone on from. Each but the last is larger than S3's smallest part, and they are few. */
export function reopenedParts(size: number): { readonly at: number; readonly bytes: number }[] {
  const each = Math.max(64 * MIB, Math.ceil(size / 4_000));
  const count = Math.max(1, Math.floor(size / each));
  return Array.from({ length: count }, (_, i) => ({ at: i * each, bytes: i === count - 1 ? size - i * each : each }));
}
