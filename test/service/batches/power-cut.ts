/** What a power cut leaves: of the store what was flushed last, of its files what there is now, for what was removed may stay so. */
import { copyFileSync, existsSync, readlinkSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { vi } from 'vitest';
import { BatchFolder } from '../../../src/service/batches/folder.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { cleanUp } from '../../support/clean-up.ts';
import { temporaryFolder } from '../harness.ts';

/** From now on it may be cut. Returns what says which files the store would name then, and are not there. Flushes that SQLite does of its own accord are not seen: without them less would be left. */
export async function powerCuts(path: string): Promise<() => Promise<string[]>> {
  const kept = `${await temporaryFolder()}/store.sqlite`;
  const keep = (): void => {
    for (const end of ['', '-wal']) if (existsSync(path + end)) copyFileSync(path + end, kept + end);
  };
  const handle = await open(path, 'r');
  const prototype = Object.getPrototypeOf(handle) as FileHandle;
  await handle.close();
  const flush = Reflect.get(prototype, 'datasync');
  vi.spyOn(prototype, 'datasync').mockImplementation(function seen(this: FileHandle) {
    if (readlinkSync(`/proc/self/fd/${this.fd}`) === `${path}-wal`) keep();
    return flush.call(this);
  });
  cleanUp(() => void vi.restoreAllMocks());
  keep();
  return async () => {
    const store = openStore(kept);
    const folder = new BatchFolder(path);
    try {
      const named = store.prepare('SELECT id, file FROM batch_files JOIN batches ON seq = batch').all();
      return named.map(({ id, file }) => folder.at(String(id), String(file))).filter((file) => !existsSync(file));
    } finally {
      store.close();
    }
  };
}
