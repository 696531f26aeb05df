/** The one rule for a filled field. Pure. */

/** Whether the value says something. Null, empty text, empty lists and mappings of only such values do not. The depth is not limited. */
export function hasValue(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return false;
  if (typeof value !== 'object') return true;
  if (Array.isArray(value)) return value.length > 0;
  // A mapping may be nested deeper than the stack.
  const open: object[] = [value];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    for (const inner of Object.values(one) as unknown[]) {
      if (typeof inner === 'object' && inner !== null && !Array.isArray(inner)) open.push(inner);
      else if (hasValue(inner)) return true;
    }
  }
  return false;
}
