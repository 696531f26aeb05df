/** The text of a JSON value that holds a key, as programs export it. Pure. */

/** The member with the value, in lists such as `[{"value": "ada@works.example", "type": "work"}]`. */
const VALUE_MEMBERS = ['value', 'email', 'address', 'url', 'number', 'phone'] as const;

/** Members of a longer list are not read. */
const MOST_MEMBERS = 100;

/**
 * A number as its digits, and the members of a list joined by `, `. The first usable member is the key. In a list of objects, one that is
 * marked as primary comes first. '' for any other value.
 */
export function keyText(value: unknown): string {
  if (!Array.isArray(value)) return scalarText(value);
  const members = value.slice(0, MOST_MEMBERS) as unknown[];
  const ordered = members.some(isPrimary) ? [...members.filter(isPrimary), ...members.filter((one) => !isPrimary(one))] : members;
  return ordered
    .map((one) => (isObject(one) ? memberText(one) : scalarText(one)))
    .filter((text) => text.trim() !== '')
    .join(', ');
}

function scalarText(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : '';
}

function memberText(object: Record<string, unknown>): string {
  for (const name of VALUE_MEMBERS) {
    const text = Object.hasOwn(object, name) ? scalarText(object[name]) : '';
    if (text !== '') return text;
  }
  return '';
}

function isPrimary(value: unknown): boolean {
  return isObject(value) && value['primary'] === true;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
