/** Part of a migration: the columns that people are sorted by, of those who are there already. */
import { ColumnWriter } from '../search/columns.ts';
import { CHUNK } from '../search/packed.ts';
import { sortWriter } from '../search/sort-keys.ts';
import { nameNumbers } from '../search/text-numbers.ts';
import type { Store } from './store.ts';

/** In order of the rows, so that no more than a chunk of them waits to be written. */
export function putSortKeys(store: Store): void {
  const sorts = sortWriter(store);
  const people = store.prepare('SELECT seq, id, name_key, observed_at, rank FROM people ORDER BY seq');
  for (const { seq, id, name_key: name, observed_at: updatedMs, rank } of people.iterate()) {
    sorts.person(seq as number, { id: id as string, name: name as string, updatedMs: updatedMs as number, rank: rank as number });
    if ((seq as number) % CHUNK === CHUNK - 1) sorts.flush();
  }
  const companies = store.prepare('SELECT domains.id, employees FROM domains JOIN companies USING (domain) ORDER BY domains.id');
  for (const { id, employees } of companies.iterate()) {
    sorts.company(id as number, employees as number | null);
    if ((id as number) % CHUNK === CHUNK - 1) sorts.flush();
  }
  sorts.flush();
}

/** The same of what a later step has added. */
export function putNameTails(store: Store): void {
  const tails = new ColumnWriter(store, 'person_name_tails');
  for (const { seq, name_key: name } of store.prepare('SELECT seq, name_key FROM people ORDER BY seq').iterate()) {
    tails.change(seq as number, nameNumbers(name as string)[1]);
    if ((seq as number) % CHUNK === CHUNK - 1) tails.flush();
  }
  tails.flush();
}
