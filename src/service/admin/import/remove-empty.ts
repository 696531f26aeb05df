/** Removes a store that a failed command has created for nothing. */
import { rmSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import type { Store } from '../../store/store.ts';

/** Tables with rows that a command makes by itself. */
const OWN_ROWS: readonly unknown[] = ['sources', 'directory_state', 'books_state'];

/**
 * Closes a store and removes its files if it holds nothing but names of sources and no other process has it open. Never throws, so that the
 * command's own error is reported.
 */
export function closeOrRemove(store: Store): void {
  const files = [store.books, store];
  try {
    // Only a single connection can leave WAL mode, and so remove the log.
    for (const file of files) file.exec('PRAGMA busy_timeout = 0; PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE');
    // The directory goes last: a process that waits for it makes both anew.
    if (files.every(isEmpty)) for (const file of files) rmSync(file.location() ?? '');
  } catch {
    // It stays: another process has it open, or the disk fails.
  } finally {
    store.close();
  }
}

function isEmpty(file: DatabaseSync): boolean {
  const tables = file.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'").all();
  return tables.every(({ name }) => OWN_ROWS.includes(name) || file.prepare(`SELECT 1 FROM "${String(name)}" LIMIT 1`).get() === undefined);
}
