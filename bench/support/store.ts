/** A store of generated contacts, of any size. */
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { normalisedFiles } from '../../src/service/admin/import/normalised-files.ts';
import { storeRows } from '../../src/service/admin/import/store-rows.ts';
import { booksOf } from '../../src/service/store/owner/store-name.ts';
import { openStore } from '../../src/service/store/open-store.ts';

/** Enough for the upper pages of all indexes of ten million contacts. */
const CACHE_KIB = 4_194_304;

/**
 * Creates the store at `path`, unless it exists. Its source files lie beside it meanwhile.
 * `varied` contacts have tens of thousands of places, and more signals.
 * The journal is not on disk, because a half-made store is useless. `bench/import.ts` measures an import that may be interrupted.
 */
export async function generatedStore(path: string, contacts: number, variety: 'usual' | 'varied' = 'usual'): Promise<void> {
  if (existsSync(path)) return;
  const folder = mkdtempSync(join(dirname(path), 'generated-'));
  try {
    const { status, stderr } = spawnSync(
      process.execPath,
      [fileURLToPath(new URL('../../fixtures/generate/large.ts', import.meta.url)), String(contacts), folder, '1', variety],
      { encoding: 'utf8' },
    );
    if (status !== 0) throw new Error(stderr);
    await fill(join(folder, 'store.sqlite'), folder);
    for (const fileOf of [booksOf, (store: string) => store]) renameSync(fileOf(join(folder, 'store.sqlite')), fileOf(path));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function fill(path: string, folder: string): Promise<void> {
  const store = openStore(path);
  try {
    store.exec(
      `PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -${CACHE_KIB}`,
    );
    const { signal } = new AbortController();
    for (const kind of ['companies', 'contacts', 'signals'] as const) {
      const task = {
        kind,
        uri: join(folder, `${kind}.jsonl`),
        shape: { format: null, delimiter: null, encoding: null },
        columns: new Map<string, string>(),
        asOfMs: null,
        nowMs: Date.now(),
      };
      for await (const file of normalisedFiles(task, signal))
        await storeRows(store, file, { nowMs: task.nowMs, signal, onReject: () => undefined });
    }
    store.exec('PRAGMA locking_mode = NORMAL; PRAGMA journal_mode = WAL; PRAGMA optimize');
  } finally {
    store.close();
  }
}
