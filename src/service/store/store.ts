/** The open store, and reads of one moment. */
import { DatabaseSync } from 'node:sqlite';

/**
 * A store is two files: the directory, which this connection reads and writes, and the books. No transaction spans both, so a change of
 * both has an order (docs/decisions/service-books.md).
 */
export class Store extends DatabaseSync {
  /** The connection to the books; this one while both are in one file. */
  books: DatabaseSync = this;

  /** Closes both files. */
  override close(): void {
    if (this.books !== this) this.books.close();
    super.close();
  }
}

/** KiB of pages that a connection for reading caches. */
const READER_CACHE_KIB = 8_192;
/** A reader waits only while another process recovers the write-ahead log, milliseconds. */
const READER_WAITS_MS = 100;

/** Another connection to the directory of a store, which reads only. The caller closes it. */
export function openReader(store: Store): Store {
  const reader = new Store(store.location() ?? ':memory:', { readOnly: true, timeout: READER_WAITS_MS });
  reader.exec(`PRAGMA cache_size = -${READER_CACHE_KIB}; PRAGMA temp_store = MEMORY`);
  return reader;
}

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
