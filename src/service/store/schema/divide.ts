/** Moves the tables of the books from the directory into a file of their own. */
import { randomBytes } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { BOOKS_ID, isInUse, openBooksFile } from '../books-file.ts';
import { booksOf } from '../owner/store-name.ts';
import { StorageError } from '../../../util/errors.ts';
import { BOOKS_STATE, BOOKS_TABLES } from './books-tables.ts';

/**
 * Runs within a transaction of the directory. The books are whole and flushed before that commits, and are in use only after it. A kill
 * at any moment leaves an undivided directory, whose next opening begins anew, or both files.
 * @throws StorageError when other books lie beside the directory
 */
export function divide(directory: DatabaseSync, file: string): void {
  const path = booksOf(file);
  if (existsSync(path) && isInUse(path))
    throw new StorageError('books_missing', `the books ${path} belong to another store than ${file}`, {
      hint: 'Put their own store beside them, or a backup: `millrace check --store FILE --restore BACKUP`. Or move the books away.',
    });
  for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true });
  const books = openBooksFile(path);
  const id = randomBytes(16);
  try {
    books.exec('PRAGMA synchronous = FULL');
    books.prepare('ATTACH ? AS undivided').run(file);
    books.exec(`BEGIN; ${BOOKS_TABLES}`);
    const tables = books.prepare("SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'").all();
    for (const { name } of tables) {
      copyTable(books, String(name));
      directory.exec(`DROP TABLE IF EXISTS "${String(name)}"`);
    }
    books.exec(`${BOOKS_STATE} PRAGMA application_id = ${BOOKS_ID}`);
    books.prepare('INSERT INTO books_state VALUES (1, ?, 0, NULL)').run(id);
    books.exec('COMMIT');
  } finally {
    books.close();
  }
  directory.prepare('INSERT INTO directory_state VALUES (1, ?, 0)').run(id);
}

/** Copies the rows with their numbers, and the number of the last one. A new store has no table yet. */
function copyTable(books: DatabaseSync, table: string): void {
  const columns = books.prepare("SELECT group_concat(name) AS names FROM pragma_table_info(?, 'undivided')").get(table)?.['names'];
  if (typeof columns !== 'string') return;
  books.exec(`INSERT INTO main."${table}" (${columns}) SELECT ${columns} FROM undivided."${table}"`);
  books.prepare('DELETE FROM main.sqlite_sequence WHERE name = ?').run(table);
  books.prepare('INSERT INTO main.sqlite_sequence SELECT * FROM undivided.sqlite_sequence WHERE name = ?').run(table);
}
