/** The files of a store: the directory and the books. */
import { copyFileSync, rmSync } from 'node:fs';
import { booksOf } from '../../src/service/store/owner/store-name.ts';

/** Copies a store that no process has open. */
export function copyStoreFiles(from: string, to: string): void {
  copyFileSync(from, to);
  copyFileSync(booksOf(from), booksOf(to));
}

export function removeStoreFiles(path: string): void {
  for (const file of [path, booksOf(path)]) for (const end of ['', '-wal', '-shm']) rmSync(file + end, { force: true });
}
