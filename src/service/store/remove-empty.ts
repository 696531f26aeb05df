/** Removes a store that a failed command has created for nothing. */
import { rmSync } from 'node:fs';
import type { Store } from './store.ts';

/**
 * Closes a store and removes its file if it holds nothing but names of sources and no other process has it open. Never throws, so that the
 * command's own error is reported.
 */
export function closeOrRemove(store: Store, path: string): void {
  try {
    // Only a single connection can leave WAL mode, and so remove the log.
    store.exec('PRAGMA busy_timeout = 0; PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE');
    if (isEmpty(store)) rmSync(path);
  } catch {
    // It stays: another process has it open, or the disk fails.
  } finally {
    store.close();
  }
}

function isEmpty(store: Store): boolean {
  const tables = store
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' AND name <> 'sources'")
    .all();
  return tables.every(({ name }) => store.prepare(`SELECT 1 FROM "${String(name)}" LIMIT 1`).get() === undefined);
}
