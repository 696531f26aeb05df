/** The open store, and writing to it: all or nothing. */
import type { DatabaseSync } from 'node:sqlite';

export type Store = DatabaseSync;

/** Runs `work` in one write transaction, or as part of the one that is open: all of it, or nothing when it throws. */
export function transaction<T>(db: DatabaseSync, work: () => T): T {
  if (db.isTransaction) return work();
  db.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

/** Runs `work`, which only reads, on the store as it is now: what is written elsewhere meanwhile is not seen. */
export function snapshot<T>(db: DatabaseSync, work: () => T): T {
  if (db.isTransaction) return work();
  db.exec('BEGIN');
  try {
    return work();
  } finally {
    db.exec('COMMIT');
  }
}
