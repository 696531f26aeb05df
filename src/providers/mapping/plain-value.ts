/** The plain value of a JSONata result: no hidden properties, no functions, nothing that JSON cannot hold. Pure. */
import { LimitReached } from './meter.ts';

/** Bounds of a result, as it would be written as JSON: one value used twice counts twice. */
const RESULT = { values: 1_000_000, characters: 16 * 1024 * 1024, depth: 200 } as const;

/**
 * Parts of the input are shared, not copied. Members that are undefined are left out.
 * @throws LimitReached for a result that is too large or too deep, or that JSON cannot hold
 */
export function plainValue(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return plainLeaf(value);
  return plain(value, 0, { values: 0, characters: 0 });
}

interface Size {
  values: number;
  characters: number;
}

function plainLeaf(value: unknown): unknown {
  if (typeof value === 'function') throw new LimitReached('bad_result', 'it gives a function');
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new LimitReached('bad_result', `it gives ${value}, which is no number of JSON`);
  return value;
}

function plain(value: unknown, depth: number, size: Size): unknown {
  size.values += 1;
  if (typeof value === 'string') size.characters += value.length;
  if (size.values > RESULT.values || size.characters > RESULT.characters)
    throw new LimitReached('too_large', `its result has more than ${RESULT.values} values or ${RESULT.characters >> 20} MiB of text`);
  if (typeof value !== 'object' || value === null) return plainLeaf(value);
  if (depth >= RESULT.depth) throw new LimitReached('too_deep', `its result is nested more than ${RESULT.depth} deep`);
  if (Array.isArray(value)) return plainList(value, depth, size);
  const own = value as Record<string, unknown>;
  if (own['_jsonata_lambda'] === true || own['_jsonata_function'] === true) throw new LimitReached('bad_result', 'it gives a function');
  return plainObject(own, depth, size);
}

function plainList(list: readonly unknown[], depth: number, size: Size): readonly unknown[] {
  const members = list.map((member) => plain(member, depth + 1, size));
  const hasHidden = 'sequence' in list || 'keepSingleton' in list || 'cons' in list || 'tupleStream' in list;
  return hasHidden || members.some((member, index) => member !== list[index]) ? members : list;
}

function plainObject(own: Readonly<Record<string, unknown>>, depth: number, size: Size): object {
  // JSONata's own objects have no prototype; those of the input were parsed.
  let copy: Record<string, unknown> | null = Object.getPrototypeOf(own) === Object.prototype ? null : {};
  for (const name of Object.keys(own)) {
    const member = own[name];
    size.characters += name.length;
    const made = plain(member, depth + 1, size);
    if (made !== member && copy === null) copy = { ...own };
    if (copy !== null && made !== undefined)
      Object.defineProperty(copy, name, { value: made, writable: true, enumerable: true, configurable: true });
  }
  return copy ?? own;
}
