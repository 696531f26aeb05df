/** Checks of values from outside, which may be anything. Pure. */

/** A text that is not empty, or null. */
export function textOrNull(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** Whether a value is absent or empty. */
export function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);
}

/** Whether objects and lists nest deeper than `levels`: serialising them would overflow the stack. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

/** Stands for a value that its field does not take: it is left out and counted. */
export const NO_VALUE = Symbol('none of its field');
