/** Numbers of people beside their mobile one: by which of them somebody is found, too. Several people may have one, such as that of an office. */
import { phoneOf } from '../field-types.ts';
import { alike, words } from '../fold.ts';
import type { SparseRecord } from '../records.ts';
import { isObject } from '../values.ts';
import type { Store } from './store.ts';

/** What sources call a number that is carried about: `Cell`, `mobile phone` and `work_mobile` are too. */
const MOBILE: readonly string[] = ['mobile', 'cell', 'cellular', 'cellphone'];

/** Every number of a person (E.164), the mobile one first. `type`: those of `phones` that are said to be so alone. */
export function numbersOf(person: SparseRecord, type: 'mobile' | null = null): string[] {
  if (person['phones'] === undefined) return typeof person['mobile'] === 'string' ? [person['mobile']] : [];
  const found = new Set<string>();
  // It is kept as a key already.
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

/** Numbers of a person beside their mobile one. */
export function otherNumbersOf(person: SparseRecord): string[] {
  if (person['phones'] === undefined) return [];
  return numbersOf(person).filter((number) => number !== person['mobile']);
}

/** Whether anybody in the store has a number, mobile or another. */
export function numberTest(store: Store): (number: string) => boolean {
  const find = store.prepare('SELECT 1 FROM people WHERE mobile = ?1 UNION ALL SELECT 1 FROM other_numbers WHERE number = ?1 LIMIT 1');
  return (number) => find.get(number) !== undefined;
}

/** Keeps somebody's other numbers, in place of those before. `isNew`: there are none. */
export function otherNumberWriter(store: Store): (person: number, others: readonly string[], isNew: boolean) => void {
  const forget = store.prepare('DELETE FROM other_numbers WHERE person = ?');
  const add = store.prepare('INSERT INTO other_numbers (number, person) VALUES (?, ?)');
  return (person, others, isNew) => {
    if (!isNew) forget.run(person);
    for (const number of others) add.run(number, person);
  };
}
