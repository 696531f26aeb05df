import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { InputError } from '../util/errors.ts';
import { ledgerFailure } from './failure.ts';
import { checkLedger } from './schema.ts';
import { checkNotTruncated } from './truncation-check.ts';

/**
 * Opens an existing ledger outside a run, and closes it in any case. @throws InputError when it does not exist, ConfigError when the file
 * is no ledger, StorageError when the disk fails
 */
export async function withLedger<T>(path: string, work: (db: DatabaseSync) => T | Promise<T>): Promise<T> {
  if (!existsSync(path))
    throw new InputError('ledger_missing', `There is no ledger ${path}`, {
      hint: 'Name the job that it belongs to, or its file with --ledger. A job has one once it has run.',
    });
  let db: DatabaseSync | undefined;
  try {
    checkNotTruncated(path);
    db = openToRead(path);
    checkLedger(db);
    return await work(db);
  } catch (error) {
    throw ledgerFailure(path, error);
  } finally {
    db?.close();
  }
}

/**
 * Opens an existing ledger that may be read only. A read-only connection would leave side files behind, so it is used only where the folder
 * permits none. Nobody can write to such a ledger, so that it needs no lock either.
 */
export function openToRead(path: string): DatabaseSync {
  const isLogEmpty = (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) === 0;
  if (isWritable(dirname(path)) || !isLogEmpty) return new DatabaseSync(path);
  const url = pathToFileURL(path);
  url.searchParams.set('immutable', '1');
  return new DatabaseSync(url, { readOnly: true });
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** The bytes of a ledger on disk, with its write-ahead log. */
export function ledgerBytes(path: string): number {
  return [path, `${path}-wal`].reduce((sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0), 0);
}

/** Rows per read: a longer read would keep a running job from emptying the write-ahead log. */
const ROWS_AT_ONCE = 10_000;

/** Columns of `answers` in batches of rows, in the order of ids. No read transaction stays open between batches. */
export function* answersInPieces<Row extends readonly [id: number, ...unknown[]]>(
  db: DatabaseSync,
  columns: string,
): Generator<readonly Row[], void, void> {
  const piece: StatementSync = db.prepare(`SELECT id, ${columns} FROM answers WHERE id > ? ORDER BY id LIMIT ${ROWS_AT_ONCE}`);
  piece.setReturnArrays(true);
  for (let last = -1; ;) {
    const rows = piece.all(last) as unknown as readonly Row[];
    const end = rows.at(-1);
    if (end === undefined) return;
    yield rows;
    last = end[0];
  }
}
