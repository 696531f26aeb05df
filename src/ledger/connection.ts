import { existsSync, statSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { InputError } from '../errors.ts';
import { ledgerFailure } from './failure.ts';
import { checkLedger } from './schema.ts';
import { checkWhole } from './whole-file.ts';

/**
 * Opens a ledger that must be there, for what is no run; closes it whatever happens.
 * @throws InputError when there is none, ConfigError when the file is none, StorageError when the disk refuses
 */
export async function withLedger<T>(path: string, work: (db: DatabaseSync) => T | Promise<T>): Promise<T> {
  if (!existsSync(path)) throw new InputError('ledger_missing', `There is no ledger ${path}`, { hint: 'Name the job that it belongs to, or its file with --ledger. A job has one once it has run.' });
  let db: DatabaseSync | undefined;
  try {
    checkWhole(path);
    db = new DatabaseSync(path);
    checkLedger(db);
    return await work(db);
  } catch (error) {
    throw ledgerFailure(path, error);
  } finally {
    db?.close();
  }
}

/** What a ledger takes on the disk, its write-ahead log included. */
export function ledgerBytes(path: string): number {
  return [path, `${path}-wal`].reduce((sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0), 0);
}

/** Rows read at a time: a longer read would keep the write-ahead log of a running job from being emptied. */
const ROWS_AT_ONCE = 10_000;

/** A column list of `answers` as arrays of rows, in order of id, a bounded number at a time; nothing is held open in between. */
export function* answersInPieces<Row extends readonly [id: number, ...unknown[]]>(db: DatabaseSync, columns: string): Generator<readonly Row[], void, void> {
  const piece: StatementSync = db.prepare(`SELECT id, ${columns} FROM answers WHERE id > ? ORDER BY id LIMIT ${ROWS_AT_ONCE}`);
  piece.setReturnArrays(true);
  for (let last = -1; ; ) {
    const rows = piece.all(last) as unknown as readonly Row[];
    const end = rows.at(-1);
    if (end === undefined) return;
    yield rows;
    last = end[0];
  }
}
