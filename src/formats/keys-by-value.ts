/** Finds key columns by their values, for a table without a header. Pure. */
import type { KeyColumn, KeyNames } from './input-record.ts';

/** The form of the values of each key, most particular first. */
const FORMS: readonly (readonly [KeyColumn, RegExp])[] = [
  ['email', /^[^\s@]+@[^\s@]+\.[^\s@]+$/],
  ['linkedin_url', /^(?:https?:\/\/)?(?:[a-z]{2,3}\.)?linkedin\.com\/(?:in|pub)\//i],
  ['domain', /^(?:https?:\/\/)?(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?\.)+\p{L}{2,}(?:[/?#:].*)?$/u],
];
/** A key column has its form in more than this share of its values that are not blank. */
const MOST = 0.5;

/** @param columns a name for each cell of a row @param rows the first rows */
export function keysByValue(columns: readonly string[], rows: readonly (readonly string[])[]): KeyNames {
  const keys: Record<KeyColumn, string | null> = { email: null, domain: null, linkedin_url: null };
  const taken = new Set<number>();
  for (const [key, form] of FORMS) {
    const index = columns.findIndex((_, at) => !taken.has(at) && isMostly(form, rows, at));
    if (index === -1) continue;
    taken.add(index);
    keys[key] = columns[index] ?? null;
  }
  return keys;
}

function isMostly(form: RegExp, rows: readonly (readonly string[])[], at: number): boolean {
  const values = rows.map((row) => (row[at] ?? '').trim()).filter((value) => value !== '');
  return values.filter((value) => form.test(value)).length > values.length * MOST;
}
