/** Replaces one file of a store by another. A crash at any moment leaves the old store or the new one. */
import { existsSync } from 'node:fs';
import { constants, copyFile, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { EXIT, InputError, MillraceError } from '../../../util/errors.ts';
import { linkOrCopy } from '../../../util/files/link-or-copy.ts';
import { syncFolder } from '../../../util/files/sync-folder.ts';
import { isBusy } from '../../../sqlite/busy.ts';
import { fileShape } from '../check/file-check.ts';
import { isDamage } from '../check/scan.ts';
import { tablesOf } from '../check/tables.ts';
import { flush } from '../export/atomic-output.ts';

/** A file of the damaged store, opened with an exclusive lock. */
export interface HeldFile {
  /** Null when it is missing, or none of it can be read. */
  readonly file: DatabaseSync | null;
  /** The path of an earlier copy of the original file; null when there is no copy. */
  readonly aside: string | null;
}

/** The path under which the damaged file is preserved. */
function asideOf(path: string, nowMs: number): string {
  return `${path}.damaged-${new Date(nowMs).toISOString().replaceAll(/[-:.]/g, '')}`;
}

/**
 * Opens the damaged store exclusively, and merges its log into it. A file with a damaged header, first page or end is first copied aside.
 * Then it gets the first page of the backup and its length again, because SQLite cannot read it otherwise.
 * @param backup null without a backup
 * @throws MillraceError (75) while another process has the store open; InputError when it cannot be read without a backup
 */
export async function holdDamaged(path: string, backup: string | null, nowMs: number): Promise<HeldFile> {
  if (!existsSync(path)) return { file: null, aside: null };
  const first = openAlone(path);
  if (first !== null) return { file: first, aside: null };
  if (backup === null)
    throw new InputError('backup_needed', `nothing of ${path} can be read: its first page or its end is damaged`, {
      hint: 'Name a backup: --restore BACKUP.',
    });
  const aside = asideOf(path, nowMs);
  for (const end of ['', '-wal']) {
    if (!existsSync(path + end)) continue;
    await copyFile(path + end, aside + end, constants.COPYFILE_EXCL);
    await flush(aside + end);
  }
  await repairHeader(path, backup);
  return { file: openAlone(path), aside };
}

/** Returns null when SQLite cannot read the file. */
function openAlone(path: string): DatabaseSync | null {
  const shape = fileShape(path);
  if (shape.pageBytes === null || shape.bytes < shape.pageBytes) return null;
  let store: DatabaseSync | null = null;
  try {
    store = new DatabaseSync(path, { timeout: 2_000 });
    // SQLite leaves WAL mode only when no other process has the store open.
    store.exec('PRAGMA journal_mode = DELETE; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    tablesOf(store);
    return store;
  } catch (error) {
    store?.close();
    if (isBusy(error))
      throw new MillraceError(EXIT.stopped, 'store_held', `another process has ${path} open`, {
        hint: 'Stop the service, wait for imports to end, then run the same command.',
        cause: error,
      });
    if (!isDamage(error)) throw error;
    return null;
  }
}

const [CHANGES_AT, PAGES_AT, FREE_AT, VALID_AT] = [24, 28, 32, 92];

/** Copies the header and the table list of the backup. They fit, because a backup is a copy page by page (sqlite.org/fileformat.html). */
async function repairHeader(path: string, backup: string): Promise<void> {
  const { pageBytes, pages } = fileShape(backup);
  if (pageBytes === null) return;
  const [file, source] = [await open(path, 'r+'), await open(backup, 'r')];
  try {
    const { size } = await file.stat();
    const header = fileShape(path);
    // A damaged header may contain any page count.
    const isPlausible = header.pageBytes === pageBytes && header.pages <= 2 * Math.max(pages, size / pageBytes);
    const count = Math.max(Math.ceil(size / pageBytes), isPlausible ? header.pages : 0);
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

/** Replaces the file by the complete and flushed file `fresh`. Returns the path of the old file, or null when there was none. */
export async function swapIn(path: string, fresh: string, { file, aside }: HeldFile, nowMs: number): Promise<string | null> {
  let oldPath = aside;
  if (oldPath === null && existsSync(path)) {
    oldPath = asideOf(path, nowMs);
    await linkOrCopy(path, oldPath);
  }
  // SQLite would apply the old log to the new file. A readable file has no log any longer, and an unreadable one was copied aside.
  if (file === null) for (const end of ['-wal', '-shm']) await rm(path + end, { force: true });
  await syncFolder(dirname(path));
  await rename(fresh, path);
  await syncFolder(dirname(path));
  return oldPath;
}
