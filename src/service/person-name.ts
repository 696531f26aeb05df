/** What somebody is called, by what is known of their name. Pure. */
import type { SparseRecord } from './records.ts';
import { textOrNull } from './values.ts';

/** The name as it was given, else as its parts make it; null when there is none. */
export function nameOf({ name, first_name: first, last_name: last }: SparseRecord): string | null {
  return textOrNull(name) ?? textOrNull([first, last].flatMap((part) => textOrNull(part) ?? []).join(' '));
}

/** Whether it says more than half of a name: that is many people's. */
export function hasWholeName({ name, first_name: first, last_name: last }: SparseRecord): boolean {
  return textOrNull(name) !== null || (textOrNull(first) !== null && textOrNull(last) !== null);
}

/** The record with its name, where parts make it. */
export function withName(person: SparseRecord): SparseRecord {
  const name = nameOf(person);
  return name === null || person['name'] !== undefined ? person : { ...person, name };
}
