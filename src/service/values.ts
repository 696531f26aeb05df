/** Values of records that come from outside, and may be anything. Pure. */
import type { SparseRecord } from './records.ts';

export function isObject(value: unknown): value is SparseRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A text that says something, or null. */
export function textOrNull(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** Whether a value says nothing. */
export function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);
}
