/** One store in the place of another: whoever is killed leaves the old one or the new one. */
import { existsSync } from 'node:fs';
import { constants, copyFile, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { EXIT, InputError, MillraceError } from '../../errors.ts';
import { linkOrCopy } from '../../storage/link-or-copy.ts';
import { syncFolder } from '../../storage/sync-folder.ts';
import { isBusy } from '../../sqlite/busy.ts';
import { fileShape } from '../check/file-check.ts';
import { isDamage } from '../check/scan.ts';
import { tablesOf } from '../check/tables.ts';
import { flush } from '../export/whole-file.ts';
import type { Store } from '../store/store.ts';

/** The damaged store, which nobody else can open while it is held. */
export interface HeldStore {
  /** Null: nothing of it can be read. */
  readonly store: Store | null;
  /** Where a copy of the file as it was lies already; null: nowhere. */
  readonly aside: string | null;
}

/** Where the damaged file is kept. */
export function asideOf(path: string, nowMs: number): string {
  return `${path}.damaged-${new Date(nowMs).toISOString().replaceAll(/[-:.]/g, '')}`;
}

/**
 * Opens the damaged store for itself alone, its log moved into it. A file whose header, first page or end is damaged is copied aside first, and then gets the first page of the backup and its length again,
 * without which SQLite reads nothing of it. @param backup null: there is none
 * @throws MillraceError (75) while another process has it open; InputError when it cannot be read without a backup
 */
export async function holdStore(path: string, backup: string | null, nowMs: number): Promise<HeldStore> {
  const first = openAlone(path);
  if (first !== null) return { store: first, aside: null };
  if (backup === null) throw new InputError('backup_needed', `nothing of the store ${path} can be read: its first page or its end is damaged`, { hint: 'Name a backup: --restore BACKUP.' });
  const aside = asideOf(path, nowMs);
  for (const end of ['', '-wal']) {
    if (!existsSync(path + end)) continue;
    await copyFile(path + end, aside + end, constants.COPYFILE_EXCL);
    await flush(aside + end);
  }
  await mend(path, backup);
  return { store: openAlone(path), aside };
}

/** Null: nothing can be read. */
function openAlone(path: string): Store | null {
  const shape = fileShape(path);
  if (shape.pageBytes === null || shape.bytes < shape.pageBytes) return null;
  let store: Store | null = null;
  try {
    store = new DatabaseSync(path, { timeout: 2_000 });
    // Out of its log it goes only when nobody else has it open.
    store.exec('PRAGMA journal_mode = DELETE; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    tablesOf(store);
    return store;
  } catch (error) {
    store?.close();
    if (isBusy(error)) throw new MillraceError(EXIT.stopped, 'store_held', `another process has the store ${path} open`, { hint: 'Stop the service, wait for imports to end, then run the same command.', cause: error });
    if (!isDamage(error)) throw error;
    return null;
  }
}

const [CHANGES_AT, PAGES_AT, FREE_AT, VALID_AT] = [24, 28, 32, 92];

/** The header and the list of tables of a backup are those of its store: a backup is a copy page by page (sqlite.org/fileformat.html). */
async function mend(path: string, backup: string): Promise<void> {
  const { pageBytes, pages } = fileShape(backup);
  if (pageBytes === null) return;
  const [file, source] = [await open(path, 'r+'), await open(backup, 'r')];
  try {
    const { size } = await file.stat();
    const said = fileShape(path);
    // A header that is damaged counts anything.
    const isSaid = said.pageBytes === pageBytes && said.pages <= 2 * Math.max(pages, size / pageBytes);
    const count = Math.max(Math.ceil(size / pageBytes), isSaid ? said.pages : 0);
    const page = Buffer.alloc(pageBytes);
    await source.read(page, 0, pageBytes, 0);
    page.writeUInt32BE(count, PAGES_AT);
    page.writeUInt32BE(page.readUInt32BE(CHANGES_AT), VALID_AT);
    page.fill(0, FREE_AT, FREE_AT + 8);
    await file.write(page, 0, pageBytes, 0);
    await file.truncate(count * pageBytes);
    await file.sync();
  } finally {
    await file.close();
    await source.close();
  }
}

/** Puts the file `fresh`, which is whole and flushed, in the place of the store; returns where the old one is, null where there was none. */
export async function swapIn(path: string, fresh: string, { store, aside }: HeldStore, nowMs: number): Promise<string | null> {
  let kept = aside;
  if (kept === null && existsSync(path)) {
    kept = asideOf(path, nowMs);
    await linkOrCopy(path, kept);
  }
  // Its pages would be taken for the new one's. One that can be read has none any more, and of the other a copy lies aside.
  if (store === null) for (const end of ['-wal', '-shm']) await rm(path + end, { force: true });
  await syncFolder(dirname(path));
  await rename(fresh, path);
  await syncFolder(dirname(path));
  return kept;
}
