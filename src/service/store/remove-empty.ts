/** The end of a store that was made for nothing. */
import { rmSync } from 'node:fs';
import type { Store } from './store.ts';

/**
 * Removes a store from the disk, if nothing was put into it but names of files, and nobody else has it open. It is of no use to its
 * connection then, which is closed either way. Never throws: why it was made for nothing is what is to be told.
 */
export function closeOrRemove(store: Store, path: string): void {
  try {
    // Only who is alone with a store can take its log away, which goes first; what is written by then is found below.
    store.exec('PRAGMA busy_timeout = 0; PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE');
    if (isEmpty(store)) rmSync(path);
  } catch {
    // It stays: somebody else has it, or the disk fails.
  } finally {
    store.close();
  }
}

function isEmpty(store: Store): boolean {
  const tables = store.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' AND name <> 'sources'").all();
  return tables.every(({ name }) => store.prepare(`SELECT 1 FROM "${String(name)}" LIMIT 1`).get() === undefined);
}
