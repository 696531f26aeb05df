/** A file lock that one process holds at a time. The kernel releases it when the process ends, even by SIGKILL. */
import { closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { isBusy } from './busy.ts';

export interface HeldFile {
  /** Releases the lock. */
  release(): void;
}

/**
 * Takes an exclusive lock on the file. A missing file is created (mode 0600) and stays empty.
 * Node has no call for kernel locks. SQLite takes one (fcntl(2)) for a transaction, so this begins a transaction and never ends it.
 * The holder must not open the file in another way: closing it would release the lock (see `makeFile`).
 * @returns null when another process, or this one, holds the lock. @throws the error of the system or of SQLite when the file cannot exist
 */
export function holdFile(path: string): HeldFile | null {
  makeFile(path);
  const db = new DatabaseSync(path, { timeout: 0 });
  try {
    // The journal stays in memory, so no file appears beside the lock.
    db.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return { release: () => db.close() };
  } catch (error) {
    db.close();
    if (isBusy(error)) return null;
    throw error;
  }
}

/** Opens the file only if it is new. This process may have locks on it already, and closing it would release them (fcntl_locking(2)). */
export function makeFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
