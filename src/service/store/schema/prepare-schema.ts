/** Creates the tables of a new store and migrates an older one. `application_id` marks the file, `user_version` is its version. */
import { existsSync } from 'node:fs';
import { MillraceError, StorageError } from '../../../util/errors.ts';
import { isBusy } from '../../../sqlite/busy.ts';
import { holdFile, type HeldFile } from '../../../sqlite/held-file.ts';
import { transaction } from '../../../sqlite/transaction.ts';
import { newerStore, pragma } from '../books-file.ts';
import type { DatabaseSync } from 'node:sqlite';
import { SCHEMA_SQL, type Migration } from './schema.ts';

/** `PRAGMA application_id` ("MLST"): another database is never written to. */
const APPLICATION_ID = 0x4d4c5354;

/** The kind of a file: `empty` has no tables, `unreleased` is a store without the mark, a number is the version of a store. */
type FileSchema = 'empty' | 'foreign' | 'unreleased' | number;

export function schemaOf(db: DatabaseSync): FileSchema {
  if (pragma(db, 'application_id') === APPLICATION_ID) return pragma(db, 'user_version');
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  if (tables.length === 0) return 'empty';
  const names = tables.map(({ name }) => name);
  return ['people', 'companies'].every((name) => names.includes(name)) ? 'unreleased' : 'foreign';
}

export function newestVersion(migrations: readonly Migration[]): number {
  return migrations.at(-1)?.version ?? 1;
}

/** Words for a store that no migration leads from. */
export function unreleasedStore(path: string): { readonly message: string; readonly hint: string } {
  return {
    message: `the store ${path} was written by a version of millrace from before the first release, and cannot be upgraded`,
    hint: 'export its records with the version that wrote it (millrace export), and import them into a new store',
  };
}

/**
 * Brings the file to the newest version in one transaction: a crash leaves it as it was. Several processes may do so at once.
 * @param path as the operator names it; `file` is its real name
 * @param isOwner this process serves the store
 * @throws StorageError for a database of another program, an unreleased or newer store, one that an older version serves, a busy one, and
 * a migration that fails
 */
export function prepareSchema(
  db: DatabaseSync,
  { path, file, isOwner }: { readonly path: string; readonly file: string; readonly isOwner: boolean },
  migrations: readonly Migration[],
): void {
  const newest = newestVersion(migrations);
  const found = versionIn(db, path, newest);
  if (found === newest) return;
  const held = isOwner || found === 0 ? null : holdUnserved(path, file);
  const at: { migration: Migration | null } = { migration: null };
  // Flushed: the other file may be written as soon as this one counts on it.
  db.exec('PRAGMA synchronous = FULL');
  try {
    transaction(db, () => {
      // Another process may have brought it up to date meanwhile.
      const before = versionIn(db, path, newest);
      if (before === newest) return;
      const steps = migrations.filter(({ version }) => version > before);
      if (before === 0) db.exec(SCHEMA_SQL);
      for (at.migration of steps) db.exec(at.migration.sql);
      for (at.migration of steps) at.migration.run?.(db, file);
      db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${newest}`);
    });
  } catch (error) {
    throw at.migration === null || error instanceof MillraceError ? busyOr(error, path) : failedMigration(error, path, at.migration);
  } finally {
    db.exec('PRAGMA synchronous = NORMAL');
    held?.release();
  }
}

/** 0: the file is empty. @throws StorageError where no migration leads from it */
function versionIn(db: DatabaseSync, path: string, newest: number): number {
  const found = schemaOf(db);
  if (found === 'empty') return 0;
  if (found === 'foreign')
    throw new StorageError('store_unusable', `the file ${path} is a database of another program`, {
      hint: 'pass --store with a file that millrace made, or a name in a folder where one may be made',
    });
  if (found === 'unreleased') {
    const { message, hint } = unreleasedStore(path);
    throw new StorageError('store_too_old', message, { hint });
  }
  if (found > newest) throw newerStore(path, found, newest);
  return found;
}

/**
 * The process that serves a store knows its tables as they are: no other process migrates them meanwhile. Null: another process is about to
 * migrate them.
 * @throws StorageError while the store is served
 */
function holdUnserved(path: string, file: string): HeldFile | null {
  const held = holdFile(`${file}.lock`);
  if (held !== null || !existsSync(`${file}.owner`)) return held;
  throw new StorageError('store_too_old', `the store ${path} is served by an older version of millrace, which its upgrade would break`, {
    hint: 'Upgrade the service first (docs/operating.md), then run the same command.',
  });
}

function failedMigration(error: unknown, path: string, { version, name }: Migration): StorageError {
  const reason = error instanceof Error ? error.message : String(error);
  return new StorageError('store_not_upgraded', `cannot bring the store ${path} up to date (version ${version}, ${name}): ${reason}`, {
    hint: 'it is unchanged, and the version of millrace that wrote it opens it; an upgrade needs as much free disk as the store takes',
    cause: error,
  });
}

/** A transaction waits for a long time only while another process migrates the store or imports into it. */
function busyOr(error: unknown, path: string): unknown {
  if (error instanceof MillraceError || !isBusy(error)) return error;
  return new StorageError('store_busy', `another process writes to the store ${path}`, {
    hint: 'it is being brought up to date or imported into; try again when that is done',
    cause: error,
  });
}
