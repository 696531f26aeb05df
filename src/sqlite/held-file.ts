/** A file that one process holds at a time. The kernel frees it when that process ends, however it ends. */
import { closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { isBusy } from './busy.ts';

export interface HeldFile {
  /** Lets go of it. */
  release(): void;
}

/**
 * Takes an exclusive lock on the file, which is made when it is missing (0600) and stays empty. Node has no call for locks of the kernel, and SQLite
 * takes them (fcntl(2)) for a transaction: one is begun here and never ended. Null: another process, or this one, holds it.
 * The file must not be opened in another way by its holder: closing it would free the lock (fcntl_locking(2)).
 * @throws what the system or SQLite says when there can be no such file
 */
export function holdFile(path: string): HeldFile | null {
  makeFile(path);
  const db = new DatabaseSync(path, { timeout: 0 });
  try {
    // No journal appears beside it.
    db.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return { release: () => db.close() };
  } catch (error) {
    db.close();
    if (isBusy(error)) return null;
    throw error;
  }
}

/** Opens it only where it is new, for the holder may be this process. */
function makeFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
