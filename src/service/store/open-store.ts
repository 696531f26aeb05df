/** Opens the service's SQLite file: creates it when it is missing, migrates its schema, and sets how processes share it. */
import { closeSync, existsSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { InputError, MillraceError, StorageError, storageHint } from '../../util/errors.ts';
import { nameOfStore } from './owner/store-name.ts';
import { damagedStore } from './failure.ts';
import { prepareSchema } from './schema/prepare-schema.ts';
import { MIGRATIONS, type Migration } from './schema/schema.ts';
import { diskCodeOf } from './store-disk.ts';
import { isUnreadable, isForeign, isMoved, isDiskFailure } from '../../sqlite/system-code.ts';
import type { Store } from './store.ts';

/** How long a write waits for another process. The event loop waits too, so this is short. */
const BUSY_TIMEOUT_MS = 2_000;

/** Page size of a new store. Records have one to three kilobytes, and with SQLite's default of 4 KiB more of them would span pages. */
const PAGE_BYTES = 8_192;
/** Bytes of the write-ahead log at which it is checkpointed. Digests as keys touch many pages repeatedly, so a long log saves writes. */
const LOG_BYTES = 16 * 1024 * 1024;

/**
 * Opens `path`, and creates the file when it is missing (0600: it holds personal data). With a write-ahead log, readers go on during a
 * write.
 * @param timeoutMs how long a write waits for another process's
 * @param isOwner this process serves the store
 * @throws InputError when its folder is missing, or it has a hard link elsewhere; StorageError when the file cannot be opened, is no store,
 * or is newer than this program
 */
export function openStore(
  path: string,
  timeoutMs: number = BUSY_TIMEOUT_MS,
  isOwner = false,
  migrations: readonly Migration[] = MIGRATIONS,
): Store {
  const file = nameOfStore(path);
  let db: DatabaseSync | undefined;
  try {
    if (!existsSync(file)) makeFile(path);
    db = new DatabaseSync(file, { timeout: timeoutMs });
    // NORMAL: a power cut may lose the last moments, never the file. secure_delete: erased data is overwritten with zeros and does not stay
    // in free pages.
    db.exec(
      `PRAGMA page_size = ${PAGE_BYTES}; PRAGMA secure_delete = ON; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA ` +
        'temp_store = MEMORY; PRAGMA cache_size = -65536;',
    );
    limitLogSize(db, LOG_BYTES);
    prepareSchema(db, { path, file, isOwner }, migrations);
    return db;
  } catch (error) {
    db?.close();
    // Another process has removed this empty store meanwhile (`remove-empty.ts`).
    if (isMoved(error)) return openStore(path, timeoutMs, isOwner, migrations);
    if (error instanceof MillraceError) throw error;
    if (isUnreadable(error) && !isForeign(error)) throw damagedStore(error, path);
    const code = isDiskFailure(error) ? diskCodeOf(error, file) : undefined;
    throw new StorageError('store_unusable', `cannot open the store ${path}: ${reason(error)}${code === undefined ? '' : ` (${code})`}`, {
      hint: isDiskFailure(error)
        ? storageHint({ code }, 'what is in the store is whole')
        : `pass --store with a file that millrace made, or a name in a folder where one may be made; if it was a store, \`millrace ` +
          `check --store ${path}\` says what is damaged`,
      cause: error,
    });
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
export function limitLogSize(db: Store, bytes: number): void {
  const page = db.prepare('PRAGMA page_size').get()?.['page_size'] as number;
  db.exec(`PRAGMA wal_autocheckpoint = ${Math.ceil(bytes / page)}`);
}

/**
 * Opens a store that must exist, for commands that need its data.
 * @throws InputError when it is missing
 */
export function openExistingStore(path: string, timeoutMs?: number): Store {
  if (!existsSync(path))
    throw new InputError('store_missing', `There is no store ${path}`, {
      hint: 'Check the name given with --store. millrace import, keys create and serve make one.',
    });
  return openStore(path, timeoutMs);
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
