/** A store of generated contacts, as large as wanted. */
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { importFiles } from '../../src/cli/import-files.ts';
import { importRows } from '../../src/service/import/import-rows.ts';
import { openStore } from '../../src/service/store/open-store.ts';

/** Large enough for the upper pages of all indexes of ten million contacts. */
const CACHE_KIB = 4_194_304;

/**
 * Makes the store at `path`, unless it is there already; what it is made of lies beside it meanwhile. Without a journal on disk, for a store that is half made is of use to nobody:
 * `bench/import.ts` shows what an import takes that may be interrupted.
 */
export async function generatedStore(path: string, contacts: number): Promise<void> {
  if (existsSync(path)) return;
  const folder = mkdtempSync(join(dirname(path), 'generated-'));
  try {
    const { status, stderr } = spawnSync(process.execPath, [fileURLToPath(new URL('../../fixtures/generate/large.ts', import.meta.url)), String(contacts), folder], { encoding: 'utf8' });
    if (status !== 0) throw new Error(stderr);
    await fill(join(folder, 'store.sqlite'), folder);
    renameSync(join(folder, 'store.sqlite'), path);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function fill(path: string, folder: string): Promise<void> {
  const store = openStore(path);
  try {
    store.exec(`PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -${CACHE_KIB}`);
    const { signal } = new AbortController();
    for (const kind of ['companies', 'contacts', 'signals'] as const) {
      const task = { kind, uri: join(folder, `${kind}.jsonl`), shape: { format: null, delimiter: null, encoding: null }, columns: new Map<string, string>(), asOfMs: null, nowMs: Date.now() };
      for await (const file of importFiles(task, signal)) await importRows(store, file, { nowMs: task.nowMs, signal, onReject: () => undefined });
    }
    store.exec('PRAGMA locking_mode = NORMAL; PRAGMA journal_mode = WAL; PRAGMA optimize');
  } finally {
    store.close();
  }
}
