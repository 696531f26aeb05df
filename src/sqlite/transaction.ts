/** Write transactions on an SQLite file, for the ledger and the service's store. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { isBusy } from './busy.ts';

const readers = new WeakMap<DatabaseSync, () => void>();

/**
 * Registers `end`, which runs before each transaction that begins here. It ends a shared read, which would make the transaction wait or
 * become a part of it.
 */
export function beforeWriting(db: DatabaseSync, end: () => void): void {
  readers.set(db, end);
}

/** Ends the shared read of a connection, if one is open. */
export function endSharedRead(db: DatabaseSync): void {
  readers.get(db)?.();
}

/**
 * Milliseconds between attempts. SQLite itself tries ten times a second, and would miss most of the moments in which an import releases the
 * store.
 */
const TRY_AGAIN_MS = 2;
const timeouts = new WeakMap<DatabaseSync, StatementSync>();
const nobody = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

/**
 * Begins a write transaction, and blocks the thread until other writers are done.
 * @throws the SQLite error when the store is busy for longer than its `busy_timeout`
 */
export function beginWriting(db: DatabaseSync): void {
  const waitMs = busyTimeoutOf(db);
  if (waitMs === 0) {
    db.exec('BEGIN IMMEDIATE');
    return;
  }
  const endMs = performance.now() + waitMs;
  db.exec('PRAGMA busy_timeout = 0');
  try {
    while (!hasBegun(db, performance.now() < endMs)) Atomics.wait(nobody, 0, 0, TRY_AGAIN_MS);
  } finally {
    db.exec(`PRAGMA busy_timeout = ${waitMs}`);
  }
}

function busyTimeoutOf(db: DatabaseSync): number {
  let statement = timeouts.get(db);
  if (statement === undefined) {
    statement = db.prepare('PRAGMA busy_timeout');
    timeouts.set(db, statement);
  }
  return Number(statement.get()?.['timeout']);
}

function hasBegun(db: DatabaseSync, mayWait: boolean): boolean {
  try {
    db.exec('BEGIN IMMEDIATE');
    return true;
  } catch (error) {
    if (!mayWait || !isBusy(error)) throw error;
    return false;
  }
}

/** Runs `work` in a write transaction, or within the open one. Either all of its changes are kept or, if it throws, none. */
export function transaction<T>(db: DatabaseSync, work: () => T): T {
  endSharedRead(db);
  if (db.isTransaction) return work();
  beginWriting(db);
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    rollback(db);
    throw error;
  }
}

/** How long other processes can write between two of several transactions, milliseconds. */
const PAUSE_MS = 8;

/**
 * Works on many items in several write transactions, so that other processes wait for a part only. A crash leaves some items undone.
 * @param atOnce items of one transaction
 */
export function shortTransactions<T>(db: DatabaseSync, items: readonly T[], atOnce: number, work: (item: T) => void): void {
  for (let from = 0; from < items.length; from += atOnce) {
    if (from > 0) Atomics.wait(nobody, 0, 0, PAUSE_MS);
    transaction(db, () => items.slice(from, from + atOnce).forEach(work));
  }
}

/** Rolls back the open transaction. */
export function rollback(db: DatabaseSync): void {
  // SQLite has rolled back by itself when the disk is full (sqlite.org/lang_transaction.html). A second ROLLBACK would fail and hide the
  // cause.
  if (db.isTransaction) db.exec('ROLLBACK');
}
