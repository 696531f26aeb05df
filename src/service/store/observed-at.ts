/** Of when a record is. Pure. */
import { plainMidnight } from '../days.ts';
import type { SparseRecord } from '../records.ts';

/** Epoch milliseconds of a record's `updated_at` (ISO 8601), or null when it has none that can be read. */
export function observedAt(record: SparseRecord): number | null {
  const text = record['updated_at'];
  if (typeof text !== 'string') return null;
  const plain = plainMidnight(text);
  if (plain !== null) return plain;
  if (!/^\d{4}-\d{2}-\d{2}/.test(text)) return null;
  const ms = Date.parse(text.replace(' ', 'T'));
  return Number.isNaN(ms) ? null : ms;
}
