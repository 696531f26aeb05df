/** The time of a report, and the order of reports without one. Pure. */
import { readTime } from '../../records/read-date.ts';
import type { SparseRecord } from '../../records/whole-record.ts';

/** Epoch milliseconds of a record's `updated_at` (ISO 8601), or null if it has no readable one. */
export function observedAt(record: SparseRecord): number | null {
  const text = record['updated_at'];
  return typeof text === 'string' ? readTime(text) : null;
}

/**
 * Reports without a time are stored this long before their arrival, milliseconds. So none of them replaces a value of a report with a time,
 * and among themselves the last arrival wins.
 */
const BEFORE_ALL = 1e14;

/** The stored time of a report without one. @param arrivedMs epoch milliseconds */
export function undatedAt(arrivedMs: number): number {
  return arrivedMs - BEFORE_ALL;
}

/** The time that is shown for a stored one: of a report without a time, that of its arrival. Epoch milliseconds. */
export function shownTime(atMs: number): number {
  return atMs < -BEFORE_ALL / 2 ? atMs + BEFORE_ALL : atMs;
}
