/** Simulates power cuts: the store falls back to its last flush, while removed files stay removed. */
import { copyFileSync, existsSync, readlinkSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { vi } from 'vitest';
import { BatchFolder } from '../../../src/service/batches/batch-folder.ts';
import { booksOf } from '../../../src/service/store/owner/store-name.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { cleanUp } from '../../support/clean-up.ts';
import { temporaryFolder } from '../harness.ts';

/**
 * Records each flush from now on. Returns a function that lists files that the store would name after a power cut, but that are missing.
 * SQLite's own flushes are not seen, so the test is stricter than a real power cut.
 */
export async function powerCuts(path: string): Promise<() => Promise<string[]>> {
  const flushed = `${await temporaryFolder()}/store.sqlite`;
  const copy = (): void => {
    for (const fileOf of [booksOf, (store: string) => store])
      for (const end of ['', '-wal']) if (existsSync(fileOf(path) + end)) copyFileSync(fileOf(path) + end, fileOf(flushed) + end);
  };
  const handle = await open(path, 'r');
  const prototype = Object.getPrototypeOf(handle) as FileHandle;
  await handle.close();
  const flush = Reflect.get(prototype, 'datasync');
  vi.spyOn(prototype, 'datasync').mockImplementation(function seen(this: FileHandle) {
    if (readlinkSync(`/proc/self/fd/${this.fd}`) === `${booksOf(path)}-wal`) copy();
    return flush.call(this);
  });
  cleanUp(() => void vi.restoreAllMocks());
  copy();
  return async () => {
    const store = openStore(flushed);
    const folder = new BatchFolder(path);
    try {
      const named = store.books.prepare('SELECT id, file FROM batch_files JOIN batches ON seq = batch').all();
      return named.map(({ id, file }) => folder.at(String(id), String(file))).filter((file) => !existsSync(file));
    } finally {
      store.close();
    }
  };
}
