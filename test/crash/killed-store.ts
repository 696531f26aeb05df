/** A store with a SIGKILL before any of its writes, for the tests of what is left. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { gunzipSync } from 'node:zlib';
import { expect } from 'vitest';
import { checkStore } from '../../src/service/admin/check/check-store.ts';
import { openStore } from '../../src/service/store/open-store.ts';
import type { Store } from '../../src/service/store/store.ts';
import { Folder } from '../support/cli.ts';

/** A store of version 1, with everything in one file: six signals and two job changes wait for its webhook. */
export const UNDIVIDED = gunzipSync(readFileSync('fixtures/stores/version-1.sqlite.gz'));
const AT_WRITE = new URL('../support/at-store-write.ts', import.meta.url).href;

/** A folder with that store, divided, as `divided.sqlite`. */
export async function folderWithStore(): Promise<Folder> {
  const folder = await Folder.make();
  writeFileSync(folder.at('divided.sqlite'), UNDIVIDED);
  openStore(folder.at('divided.sqlite')).close();
  return folder;
}

interface Killed {
  /** The writes so far. */
  readonly writes: readonly string[];
  readonly isKilled: boolean;
}

/** Runs the command, killed before its nth write; 0 for none. @param only what the description of a write holds, where only some count */
export async function killedAt(folder: Folder, nth: number, args: readonly string[], only = ''): Promise<Killed> {
  const log = folder.at('writes.log');
  rmSync(log, { force: true });
  const { code } = await folder.run(args, {
    env: { NODE_OPTIONS: `--import ${AT_WRITE}`, STORE_WRITE: String(nth), STORE_WRITES_LOG: log, STORE_WRITES_OF: only },
  });
  return { writes: existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [], isKilled: code !== 0 };
}

/** The rows of a file, by table. Ids that are drawn at random are left out. */
export function rowsOf(file: DatabaseSync): Record<string, unknown> {
  const tables = file.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'sqlite_stat1' ORDER BY name").all();
  return Object.fromEntries(
    tables
      .filter(({ name }) => name !== 'books_state' && name !== 'directory_state')
      .map(({ name }) => [name, file.prepare(`SELECT * FROM "${String(name)}" ORDER BY 1, 2`).all()]),
  );
}

export function using<T>(path: string, work: (store: Store) => T): T {
  const store = openStore(path);
  try {
    return work(store);
  } finally {
    store.close();
  }
}

export async function expectWhole(path: string): Promise<void> {
  expect((await checkStore(path, Date.now(), new AbortController().signal)).findings).toEqual([]);
}
