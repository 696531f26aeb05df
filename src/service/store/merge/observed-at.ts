/** The time of a report. Pure. */
import { momentOf } from '../../records/parse-date.ts';
import type { SparseRecord } from '../../records/whole-record.ts';

/** Epoch milliseconds of a record's `updated_at` (ISO 8601), or null if it has no readable one. */
export function observedAt(record: SparseRecord): number | null {
  const text = record['updated_at'];
  return typeof text === 'string' ? momentOf(text) : null;
}
