/** Of when a record is. Pure. */
import { momentOf } from '../days.ts';
import type { SparseRecord } from '../records.ts';

/** Epoch milliseconds of a record's `updated_at` (ISO 8601), or null when it has none that can be read. */
export function observedAt(record: SparseRecord): number | null {
  const text = record['updated_at'];
  return typeof text === 'string' ? momentOf(text) : null;
}
