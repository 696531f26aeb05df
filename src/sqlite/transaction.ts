/** Writing to an SQLite file: all or nothing. What the ledger and the service's store share. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { isBusy } from './busy.ts';

const readers = new WeakMap<DatabaseSync, () => void>();

/** Has `end` called before a transaction is begun here, for reads that share one: theirs would make it wait, or be part of it. */
export function beforeWriting(db: DatabaseSync, end: () => void): void {
  readers.set(db, end);
}

/** SQLite itself tries ten times a second, and would miss most of the moments for which an import lets go of the store. Milliseconds. */
const TRY_AGAIN_MS = 2;
const timeouts = new WeakMap<DatabaseSync, StatementSync>();
const nobody = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

/**
 * Begins a write transaction, once nobody else writes; the thread waits meanwhile.
 * @throws what SQLite says when the store is busy for longer than its `busy_timeout`
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

/** Runs `work` in one write transaction, or as part of the one that is open: all of it, or nothing when it throws. */
export function transaction<T>(db: DatabaseSync, work: () => T): T {
  readers.get(db)?.();
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

/** Undoes the transaction that is open. */
export function rollback(db: DatabaseSync): void {
  // SQLite has ended it by itself where the disk is full (sqlite.org/lang_transaction.html); its own words would hide the cause.
  if (db.isTransaction) db.exec('ROLLBACK');
}
