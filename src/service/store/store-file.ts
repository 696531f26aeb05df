/** Opens one SQLite file of a store, and sets how processes share it. */
import { closeSync, existsSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { InputError } from '../../util/errors.ts';

/** Bytes of the write-ahead log at which it is checkpointed. Digests as keys touch many pages repeatedly, so a long log saves writes. */
const LOG_BYTES = 16 * 1024 * 1024;

/**
 * Opens the file, and creates it when it is missing (0600: it holds personal data). With a write-ahead log, readers go on during a write.
 * @param pageBytes page size of a new file
 */
export function openFile<File extends DatabaseSync>(path: string, open: (path: string) => File, pageBytes: number): File {
  if (!existsSync(path)) makeFile(path);
  const db = open(path);
  try {
    // NORMAL: a power cut may lose the last moments, never the file. secure_delete: erased data is overwritten with zeros and does not stay
    // in free pages.
    db.exec(
      `PRAGMA page_size = ${pageBytes}; PRAGMA secure_delete = ON; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA ` +
        'temp_store = MEMORY; PRAGMA cache_size = -65536;',
    );
    limitLogSize(db, LOG_BYTES);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** A missing folder is not created: it is usually the mount point of a disk, and the mounted disk would hide the store. */
function makeFile(path: string): void {
  try {
    closeSync(openSync(path, 'a', 0o600));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error;
    throw folderMissing(path, error);
  }
}

/** @throws InputError when the store's folder is missing */
export function requireFolder(path: string): void {
  if (statSync(dirname(path), { throwIfNoEntry: false })?.isDirectory() !== true) throw folderMissing(path);
}

function folderMissing(path: string, cause?: unknown): InputError {
  return new InputError('store_missing', `There is no folder ${dirname(path)} for the store ${path}`, {
    hint: 'Check the name given with --store, or make the folder first.',
    cause,
  });
}

/** Checkpoints the write-ahead log at this size, whatever the page size. */
export function limitLogSize(db: DatabaseSync, bytes: number): void {
  const page = db.prepare('PRAGMA page_size').get()?.['page_size'] as number;
  db.exec(`PRAGMA wal_autocheckpoint = ${Math.ceil(bytes / page)}`);
}
