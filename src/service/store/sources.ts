/** Where records come from, each by a number. */
import type { Store } from './store.ts';

/** The number of a source's name, which is given one when it is new. Within a transaction. */
export function sourceNumber(store: Store, name: string): number {
  store.prepare('INSERT OR IGNORE INTO sources (name) VALUES (?)').run(name);
  return store.prepare('SELECT id FROM sources WHERE name = ?').get(name)?.['id'] as number;
}

/** Every source's name by its number. */
export function sourceNames(store: Store): ReadonlyMap<number, string> {
  return new Map(store.prepare('SELECT id, name FROM sources').all().map(({ id, name }) => [id as number, name as string]));
}
