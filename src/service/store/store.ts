/** The open store, and reads of one moment. */
import type { DatabaseSync } from 'node:sqlite';

export type Store = DatabaseSync;

/** Runs `work`, which only reads, in a read transaction, so that it does not see concurrent writes. */
export function snapshot<T>(db: DatabaseSync, work: () => T): T {
  if (db.isTransaction) return work();
  db.exec('BEGIN');
  try {
    return work();
  } finally {
    db.exec('COMMIT');
  }
}
