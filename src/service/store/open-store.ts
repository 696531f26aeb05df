/** Opens the service's SQLite file: makes it when it is missing, brings its schema up to date, and sets how it is shared. */
import { closeSync, existsSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { InputError, MillraceError, StorageError, storageHint } from '../../errors.ts';
import { nameOfStore } from '../owner/store-name.ts';
import { damagedStore } from './failure.ts';
import { MIGRATIONS } from './migrations.ts';
import { diskCodeOf } from './store-disk.ts';
import { isBusy } from '../../sqlite/busy.ts';
import { holdFile, type HeldFile } from '../../sqlite/held-file.ts';
import { isDamage, isForeign, isMoved, isOfDisk } from '../../sqlite/system-code.ts';
import { transaction } from '../../sqlite/transaction.ts';
import type { Store } from './store.ts';

/** A writer waits this long for another process's transaction. The event loop waits with it, so not long. */
const BUSY_TIMEOUT_MS = 2_000;

/** Of a file that is made here: records have one to three thousand bytes, and fewer of them are spread over several pages than with SQLite's 4 KiB. */
const PAGE_BYTES = 8_192;
/** Bytes of the write-ahead log before its pages are moved: rows under random digests touch many, again and again. */
const LOG_BYTES = 16 * 1024 * 1024;

/**
 * Opens `path`, creating the file (0600: it holds personal data) when it is missing. Write-ahead log: readers go on while someone writes.
 * `timeoutMs` is how long a write waits for another process's. `isOwner`: this process serves it.
 * @throws InputError when its folder is missing, or it has a name elsewhere; StorageError when the file cannot be opened, is no store, or is newer than this program.
 */
export function openStore(path: string, timeoutMs: number = BUSY_TIMEOUT_MS, isOwner = false): Store {
  const file = nameOfStore(path);
  let db: DatabaseSync | undefined;
  try {
    if (!existsSync(file)) makeFile(path);
    db = new DatabaseSync(file, { timeout: timeoutMs });
    // NORMAL: a power cut may lose the last moments, never the file.
    // Who was erased or changed is overwritten with zeros: nothing of them stays in the file's free space.
    db.exec(`PRAGMA page_size = ${PAGE_BYTES}; PRAGMA secure_delete = ON; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -65536;`);
    boundLog(db, LOG_BYTES);
    migrate(db, path, isOwner ? null : file);
    return db;
  } catch (error) {
    db?.close();
    // It was made for nothing by another process, which has removed it meanwhile (remove-empty.ts).
    if (isMoved(error)) return openStore(path, timeoutMs, isOwner);
    if (error instanceof MillraceError) throw error;
    if (isDamage(error) && !isForeign(error)) throw damagedStore(error, path);
    const code = isOfDisk(error) ? diskCodeOf(error, file) : undefined;
    throw new StorageError('store_unusable', `cannot open the store ${path}: ${reason(error)}${code === undefined ? '' : ` (${code})`}`, {
      hint: isOfDisk(error) ? storageHint({ code }, 'what is in the store is whole') : `pass --store with a file that millrace made, or a name in a folder where one may be made; if it was a store, \`millrace check --store ${path}\` says what is damaged`,
      cause: error,
    });
  }
}

/** A folder is not made: where a store is to stay it mostly is a disk of its own, which the store would be hidden under once it is mounted. */
function makeFile(path: string): void {
  try {
    closeSync(openSync(path, 'a', 0o600));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error;
    throw folderMissing(path, error);
  }
}

/** @throws InputError when there is no folder for the store */
export function requireFolder(path: string): void {
  if (statSync(dirname(path), { throwIfNoEntry: false })?.isDirectory() !== true) throw folderMissing(path);
}

function folderMissing(path: string, cause?: unknown): InputError {
  return new InputError('store_missing', `There is no folder ${dirname(path)} for the store ${path}`, { hint: 'Check the name given with --store, or make the folder first.', cause });
}

/** Has the log's pages moved into the file whenever it has come to so many bytes, whatever pages the file has. */
export function boundLog(db: Store, bytes: number): void {
  const page = db.prepare('PRAGMA page_size').get()?.['page_size'] as number;
  db.exec(`PRAGMA wal_autocheckpoint = ${Math.ceil(bytes / page)}`);
}

/**
 * The same for a store that must be there already: whoever erases, dumps or looks means one with something in it.
 * @throws InputError when it is missing
 */
export function openExistingStore(path: string, timeoutMs?: number): Store {
  if (!existsSync(path)) throw new InputError('store_missing', `There is no store ${path}`, { hint: 'Check the name given with --store. millrace import, keys create and serve make one.' });
  return openStore(path, timeoutMs);
}

/**
 * Runs the steps that the file has not had yet, in one transaction; two processes may start at once. The tables come first: what SQL alone cannot do is done
 * with the code that writes to them today.
 */
function migrate(db: DatabaseSync, path: string, unowned: string | null): void {
  const newest = MIGRATIONS.at(-1)?.version ?? 0;
  if (schemaVersion(db) < newest) {
    const at: { step: string | null } = { step: null };
    const held = unowned !== null && schemaVersion(db) > 0 ? holdUnserved(path, unowned) : null;
    try {
      transaction(db, () => {
        const before = schemaVersion(db);
        const steps = MIGRATIONS.filter(({ version }) => version > before);
        for (const { sql } of steps) db.exec(sql);
        for (const { version, name, run } of steps) {
          at.step = `step ${version}, ${name}`;
          run?.(db);
        }
        if (steps.length > 0) db.exec(`PRAGMA user_version = ${newest}`);
      });
    } catch (error) {
      throw at.step === null ? busyOr(error, path) : new StorageError('store_not_upgraded', `cannot bring the store ${path} up to date (${at.step}): ${reason(error)}`, {
        hint: 'it is as it was: the version of millrace that wrote it opens it. When the disk is full, make as much room as the store takes',
        cause: error,
      });
    } finally {
      held?.release();
    }
  }
  const found = schemaVersion(db);
  if (found > newest) {
    throw new StorageError('store_too_new', `the store ${path} has schema ${found}; this version of millrace knows up to ${newest}`, {
      hint: 'use the version of millrace that wrote it, or a newer one',
    });
  }
}

/** The process that serves a store knows its tables as they are: nobody changes them meanwhile. Null: another process is about to change them, too. @throws StorageError while it is served */
function holdUnserved(path: string, file: string): HeldFile | null {
  const held = holdFile(`${file}.lock`);
  if (held !== null || !existsSync(`${file}.owner`)) return held;
  throw new StorageError('store_too_old', `the store ${path} is served by an older version of millrace, which its upgrade would break`, { hint: 'Upgrade the service first (docs/operating.md), then run the same command.' });
}

/** Who cannot begin meets somebody who writes, and for long only while a store is brought up to date. */
function busyOr(error: unknown, path: string): unknown {
  if (!isBusy(error)) return error;
  return new StorageError('store_busy', `another process writes to the store ${path}`, { hint: 'it is being brought up to date or imported into; try again when that is done', cause: error });
}

function schemaVersion(db: DatabaseSync): number {
  return Number(db.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0);
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
