/** The open store, and how it is read as of one moment. */
import type { DatabaseSync } from 'node:sqlite';

export type Store = DatabaseSync;

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
