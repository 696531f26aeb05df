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

/** Whether there are more than `levels` of objects and lists within each other: to write such is recursion without end. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

/** In the place of a value that is none of its field: it is left out, and counted as such. */
export const NO_VALUE = Symbol('none of its field');
