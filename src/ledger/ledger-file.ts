import { accessSync, constants } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isBusy } from '../sqlite/busy.ts';
import { makeFile } from '../sqlite/held-file.ts';
import { transaction } from '../sqlite/transaction.ts';
import { makeFolders } from '../util/files/make-folders.ts';
import { openToRead } from './connection.ts';
import { ledgerFailure } from './failure.ts';
import type { LedgerOptions } from './options.ts';
import { BUSY_MS, checkLedger, prepareLedger } from './schema.ts';
import { checkNotTruncated } from './truncation-check.ts';

/** The SQLite file of a ledger: how it is opened, its write transactions and its errors. */
export class LedgerFile {
  readonly db: DatabaseSync;
  readonly #path: string;
  readonly #mayWrite: (() => void) | undefined;

  private constructor(db: DatabaseSync, { path, mayWrite }: LedgerOptions) {
    this.db = db;
    this.#path = path;
    this.#mayWrite = mayWrite;
  }

  /**
   * Opens the file, and passes it to `use`. It is closed when `use` throws.
   * @throws ConfigError when the file is not a ledger, StorageError when the disk fails
   */
  static open<T>(options: LedgerOptions, use: (file: LedgerFile) => T): T {
    const { path, readOnly = false } = options;
    let db: DatabaseSync | undefined;
    try {
      if (!readOnly) {
        makeFolders(dirname(path));
        makeFile(path);
        accessSync(path, constants.W_OK);
      }
      checkNotTruncated(path);
      db = readOnly ? openToRead(path) : new DatabaseSync(path);
      if (readOnly) checkLedger(db);
      else prepareLedger(db);
      return use(new LedgerFile(db, options));
    } catch (error) {
      db?.close();
      throw ledgerFailure(path, error);
    }
  }

  /** Runs `work`, and turns a failure of SQLite or the disk into an error for the user. */
  guard<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw ledgerFailure(this.#path, error);
    }
  }

  /** Runs `work` in one write transaction, while this run owns the job. @throws what `mayWrite` throws */
  write<T>(work: () => T): T {
    return transaction(this.db, () => {
      this.#mayWrite?.();
      return work();
    });
  }

  /** Runs `work` in one read transaction. Outside of one, each read after a write of another process begins with an empty cache. */
  read<T>(work: () => T): T {
    this.db.exec('BEGIN');
    try {
      return work();
    } finally {
      this.db.exec('COMMIT');
    }
  }

  /** Runs `work`, whose writes are not flushed to the disk. Returns false when another process is writing. */
  writeUnsynced(work: () => void): boolean {
    this.db.exec('PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 0');
    try {
      work();
      return true;
    } catch (error) {
      if (error instanceof Error && isBusy(error.cause)) return false;
      throw error;
    } finally {
      this.db.exec(`PRAGMA synchronous = FULL; PRAGMA busy_timeout = ${BUSY_MS}`);
    }
  }
}
