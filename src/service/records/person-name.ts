/** The name of a person from its parts. Pure. */
import type { SparseRecord } from './whole-record.ts';
import { textOrNull } from '../http/values.ts';

/** The full name, else the joined parts; null if there is none. */
export function fullName({ name, first_name: first, last_name: last }: SparseRecord): string | null {
  return textOrNull(name) ?? textOrNull([first, last].flatMap((part) => textOrNull(part) ?? []).join(' '));
}

/** Whether the name has a first and a last name. Half a name is shared by many people. */
export function hasWholeName({ name, first_name: first, last_name: last }: SparseRecord): boolean {
  return textOrNull(name) !== null || (textOrNull(first) !== null && textOrNull(last) !== null);
}

/** The record with a full name, built from parts if necessary. */
export function withName(person: SparseRecord): SparseRecord {
  const name = fullName(person);
  return name === null || person['name'] !== undefined ? person : { ...person, name };
}
