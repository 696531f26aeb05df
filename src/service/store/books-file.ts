/** The file of the books. */
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { StorageError } from '../../util/errors.ts';
import { booksOf, nameOfStore } from './owner/store-name.ts';
import { openFile } from './store-file.ts';
import type { Store } from './store.ts';

/** `PRAGMA application_id` of the books ("MLSB"). `PRAGMA user_version` is 0 until a directory counts on them. */
export const BOOKS_ID = 0x4d4c5342;
export const BOOKS_VERSION = 1;

/** Page size. Rows are small, and each commit writes whole pages. */
const PAGE_BYTES = 4_096;

/** Opens the file, and creates it when it is missing. */
export function openBooksFile(path: string, timeoutMs?: number): DatabaseSync {
  return openFile(path, (file) => new DatabaseSync(file, { timeout: timeoutMs }), PAGE_BYTES);
}

/** Whether a directory counts on these books, or the file is none of ours. */
export function isInUse(path: string): boolean {
  const db = new DatabaseSync(path);
  try {
    if (pragma(db, 'application_id') === BOOKS_ID) return pragma(db, 'user_version') > 0;
    return db.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() !== undefined;
  } finally {
    db.close();
  }
}

/**
 * Opens the books of a directory.
 * @param file the store's file
 * @throws StorageError when they are missing, newer, or belong to another directory
 */
export function openBooks(store: Store, file: string, timeoutMs?: number): void {
  const path = nameOfStore(booksOf(file));
  if (existsSync(path)) store.books = openBooksFile(path, timeoutMs);
  const version = checkBooks(store, file);
  // The process that divided the directory was killed before this.
  if (version === 0) store.books.exec(`PRAGMA user_version = ${BOOKS_VERSION}`);
}

/** @returns the version of the open books @throws StorageError as `openBooks` does */
export function checkBooks(store: Store, file: string): number {
  const { books } = store;
  if (books === store) throw wrongBooks(file, `the books of the store ${file} are missing: ${booksOf(file)}`);
  const version = pragma(books, 'user_version');
  if (version > BOOKS_VERSION) throw newerStore(booksOf(file), version, BOOKS_VERSION);
  const [own, expected] = [
    pragma(books, 'application_id') === BOOKS_ID ? books.prepare('SELECT hex(id) AS id FROM books_state').get()?.['id'] : null,
    store.prepare('SELECT hex(books) AS id FROM directory_state').get()?.['id'],
  ];
  if (own !== expected) throw wrongBooks(file, `the books ${booksOf(file)} belong to another store than ${file}`);
  return version;
}

function wrongBooks(file: string, message: string): StorageError {
  return new StorageError('books_missing', message, {
    hint: `Put them back from where the store was before, or a backup: millrace check --store ${file} --restore BACKUP.`,
  });
}

export function newerStore(path: string, found: number, newest: number): StorageError {
  return new StorageError('store_too_new', `the store ${path} has schema ${found}; this version of millrace knows up to ${newest}`, {
    hint: 'use the version of millrace that wrote it, or a newer one',
  });
}

export function pragma(db: DatabaseSync, name: string): number {
  return Number(Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0] ?? 0);
}
