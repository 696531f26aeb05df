import type { InputRecord } from '../reader/types.ts';

/** About how much memory a record holds, in bytes: its text, and a little for each of its parts. */
export function sizeOf(record: InputRecord): number {
  let size = 256 + (record.json?.length ?? 0);
  if (record.values !== null) for (const value of record.values) size += value.length + 24;
  return size;
}
