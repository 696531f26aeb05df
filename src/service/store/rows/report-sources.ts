/** Names of sources, each with a number. */
import type { Store } from '../store.ts';

/** The number of a source. A new name gets one, so call it within a transaction. */
export function sourceId(store: Store, name: string): number {
  store.prepare('INSERT OR IGNORE INTO sources (name) VALUES (?)').run(name);
  return store.prepare('SELECT id FROM sources WHERE name = ?').get(name)?.['id'] as number;
}

/** All names by number. */
export function sourceNames(store: Store): ReadonlyMap<number, string> {
  return new Map(
    store
      .prepare('SELECT id, name FROM sources')
      .all()
      .map(({ id, name }) => [id as number, name as string]),
  );
}
