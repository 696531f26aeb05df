/** Writing to an SQLite file: all or nothing. What the ledger and the service's store share. */
import type { DatabaseSync } from 'node:sqlite';

const readers = new WeakMap<DatabaseSync, () => void>();

/** Has `end` called before a transaction is begun here, for reads that share one: theirs would make it wait, or be part of it. */
export function beforeWriting(db: DatabaseSync, end: () => void): void {
  readers.set(db, end);
}

/** Runs `work` in one write transaction, or as part of the one that is open: all of it, or nothing when it throws. */
export function transaction<T>(db: DatabaseSync, work: () => T): T {
  readers.get(db)?.();
  if (db.isTransaction) return work();
  db.exec('BEGIN IMMEDIATE');
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
