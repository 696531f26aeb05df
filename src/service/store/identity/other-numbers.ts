/**
 * Telephone numbers of a person beside the mobile one. Lookups find the person by them, and several people may share one, such as an
 * office's.
 */
import { phoneOf } from '../../records/field-types.ts';
import { alike, words } from '../../records/normalise.ts';
import type { SparseRecord } from '../../records/whole-record.ts';
import { isObject } from '../../../util/is-object.ts';
import type { Store } from '../store.ts';

/** Words for a mobile number in the `type` of sources, such as `Cell`, `mobile phone` and `work_mobile`. */
const MOBILE: readonly string[] = ['mobile', 'cell', 'cellular', 'cellphone'];

/**
 * All numbers of a person (E.164), the mobile one first.
 * @param type with `mobile`, only the entries of `phones` of that type
 */
export function numbersOf(person: SparseRecord, type: 'mobile' | null = null): string[] {
  if (person['phones'] === undefined) return typeof person['mobile'] === 'string' ? [person['mobile']] : [];
  const found = new Set<string>();
  // It is normalised already.
  if (typeof person['mobile'] === 'string') found.add(person['mobile']);
  for (const phone of Array.isArray(person['phones']) ? (person['phones'] as readonly unknown[]) : []) {
    const number = isObject(phone) && (type === null || isMobile(phone['type'])) ? phoneOf(phone['number']) : undefined;
    if (number !== undefined) found.add(number);
  }
  return [...found];
}

function isMobile(type: unknown): boolean {
  return typeof type === 'string' && words(alike(type)).some((word) => MOBILE.includes(word));
}

/** The numbers beside the mobile one. */
export function otherNumbersOf(person: SparseRecord): string[] {
  if (person['phones'] === undefined) return [];
  return numbersOf(person).filter((number) => number !== person['mobile']);
}

/** Whether any person has a number, mobile or other. */
export function numberTest(store: Store): (number: string) => boolean {
  const find = store.prepare('SELECT 1 FROM people WHERE mobile = ?1 UNION ALL SELECT 1 FROM other_numbers WHERE number = ?1 LIMIT 1');
  return (number) => find.get(number) !== undefined;
}

/** Replaces the stored other numbers of a person. @param isNew the person has none stored */
export function otherNumberWriter(store: Store): (person: number, others: readonly string[], isNew: boolean) => void {
  const forget = store.prepare('DELETE FROM other_numbers WHERE person = ?');
  const add = store.prepare('INSERT INTO other_numbers (number, person) VALUES (?, ?)');
  return (person, others, isNew) => {
    if (!isNew) forget.run(person);
    for (const number of others) add.run(number, person);
  };
}
