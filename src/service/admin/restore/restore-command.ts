/** `millrace check --restore` and `--rebuild`: builds a new store from the readable rows of a damaged one and from a backup. */
import { existsSync, realpathSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { DatabaseSync } from 'node:sqlite';
import { EXIT, InputError, MillraceError, StorageError, UsageError } from '../../../util/errors.ts';
import { eraseAgain } from '../../erasure/catch-up.ts';
import { finishErasures } from '../../erasure/open-erasure.ts';
import { checkStore, checkVersion, openReadOnly, tidyLog, type CheckResult } from '../check/check-store.ts';
import { yieldToAbort } from '../check/record-check.ts';
import { isDamage } from '../check/scan.ts';
import type { Row } from '../check/tables.ts';
import { flush } from '../export/atomic-output.ts';
import { checkBooks } from '../../store/books-file.ts';
import { booksOf } from '../../store/owner/store-name.ts';
import { StoreOwner } from '../../store/owner/store-owner.ts';
import { transaction } from '../../../sqlite/transaction.ts';
import { storeFailure } from '../../store/failure.ts';
import { openStore } from '../../store/open-store.ts';
import { rebuild } from './rebuild.ts';
import type { Store } from '../../store/store.ts';
import { copyErasures, restoreTest } from './erase-again.ts';
import { restorationText, type Restoration } from './restoration.ts';
import { restoreBatches, type BackupOf } from './restore-batches.ts';
import { salvage, type Files, type Salvaged } from './salvage.ts';
import { holdDamaged, swapIn, type HeldFile } from './swap.ts';

/**
 * Builds a new store when any part is damaged, and prints the result.
 * @param backup path of the backup; null without one
 * @throws MillraceError (75) while another process has the store open; InputError; StorageError
 */
export async function restoreCommand(path: string, backup: string | null, json: boolean, signal: AbortSignal): Promise<void> {
  try {
    if (backup !== null && existsSync(path) && existsSync(backup) && realpathSync(path) === realpathSync(backup))
      throw new UsageError('same_file', `the store ${path} cannot be its own backup`, { hint: 'Name another file with --restore.' });
    const source = backup === null ? null : openBackup(backup);
    try {
      const restoration = await restore(path, source, signal);
      if (restoration === null)
        process.stdout.write(
          json ? `${JSON.stringify({ store: path, restored: false })}\n` : `${path}: no damage found, and nothing changed\n`,
        );
      else process.stdout.write(json ? `${JSON.stringify(restoration)}\n` : restorationText(restoration));
    } finally {
      source?.store.close();
      for (const path of source?.closed ?? []) tidyLog(path);
    }
  } catch (error) {
    throw storeFailure(error, path);
  }
}

/**
 * Opens a backup. `closed` has those of its files that no process has open.
 * @throws InputError when the path is not a backup, or the backup is damaged; StorageError without its books
 */
function openBackup(backupPath: string): BackupOf & { readonly closed: readonly string[] } {
  if (!existsSync(backupPath))
    throw new InputError('backup_missing', `There is no backup ${backupPath}`, { hint: 'Check the name given with --restore.' });
  // The batch-job files are beside the file itself, not beside a link to it.
  const path = realpathSync(backupPath);
  const closed = [path, booksOf(path)].filter((file) => !existsSync(`${file}-wal`));
  const store = openReadOnly(path);
  try {
    checkVersion(store, path);
    checkBooks(store, path);
    if ([store, store.books].every(isWhole)) return { path, store, closed };
  } catch (error) {
    store.close();
    if (!isDamage(error)) throw error;
    throw new InputError('backup_damaged', `the backup ${path} is damaged itself`, { hint: 'Name another one.', cause: error });
  }
  store.close();
  throw new InputError('backup_damaged', `the backup ${path} is damaged itself`, { hint: 'Name another one.' });
}

/** Holds the owner's lock, so that no service starts meanwhile. Returns null when nothing is damaged. */
async function restore(store: string, backup: BackupOf | null, signal: AbortSignal): Promise<Restoration | null> {
  if (!existsSync(store) && backup === null)
    throw new InputError('store_missing', `There is no store ${store}`, { hint: 'Name a backup that takes its place: --restore BACKUP.' });
  const owner = await StoreOwner.claim(store).catch((error: unknown) => {
    throw error instanceof MillraceError && error.exitCode === EXIT.stopped
      ? new MillraceError(EXIT.stopped, error.code, error.message, { hint: 'Stop that one, then run the same command.', cause: error })
      : error;
  });
  try {
    // Uses the file's own path, so that a symbolic link stays a link.
    const restoration = await restoreAt(owner.path, backup, signal);
    return restoration === null ? null : { ...restoration, store };
  } finally {
    await owner.release();
  }
}

async function restoreAt(path: string, backup: BackupOf | null, signal: AbortSignal): Promise<Restoration | null> {
  const nowMs = Date.now();
  const checked: CheckResult | null = existsSync(path) ? await checkStore(path, nowMs, signal) : null;
  if (checked?.isDamaged === false) return null;
  const freshPath = `${path}.restoring`;
  const hold = (fileOf: (store: string) => string): Promise<HeldFile> =>
    holdDamaged(fileOf(path), backup === null ? null : fileOf(backup.path), nowMs);
  const [directory, books] = [await hold((store) => store), await hold(booksOf)];
  try {
    await discard(freshPath);
    const suspect = new Set(checked?.findings.flatMap(({ code, table }) => (code === 'records_damaged' && table !== null ? [table] : [])));
    const contents = await fillStore(openStore(freshPath), { directory: directory.file, books: books.file }, path, backup, suspect, signal);
    for (const file of [booksOf(freshPath), freshPath]) await flush(file);
    // A kill between the two leaves a damaged directory with whole books: the same command goes on from there.
    const oldBooks = await swapIn(booksOf(path), booksOf(freshPath), books, nowMs);
    const old = await swapIn(path, freshPath, directory, nowMs);
    return { store: path, restored: true, old, old_books: oldBooks, backup: backup?.path ?? null, ...contents };
  } finally {
    directory.file?.close();
    books.file?.close();
    await discard(freshPath);
  }
}

async function discard(path: string): Promise<void> {
  for (const file of [path, booksOf(path)]) for (const end of ['', '-wal', '-shm', '-journal']) await rm(file + end, { force: true });
}

/** The damaged files; null where nothing can be read. */
interface OldFiles {
  readonly directory: DatabaseSync | null;
  readonly books: DatabaseSync | null;
}

type RestoredContents = Pick<Restoration, 'tables' | 'keys' | 'people_erased' | 'erasures_known' | 'batches'>;

/** Fills the new store and closes it, without logs beside its files. */
async function fillStore(
  fresh: Store,
  old: OldFiles,
  path: string,
  backup: BackupOf | null,
  suspect: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<RestoredContents> {
  const copies = backup?.store ?? null;
  const directory: Files = { old: old.directory, backup: copies, fresh };
  const books: Files = { old: old.books, backup: copies?.books ?? null, fresh: fresh.books };
  try {
    // Unsafe settings are fine: nobody opens the new store before it is complete.
    for (const file of [fresh, fresh.books]) file.exec('PRAGMA synchronous = OFF');
    keepState(books, directory);
    const erasuresKnown = copyErasures(books, fresh, path);
    const mayRestore = restoreTest(copies, fresh);
    const salvaged = [...(await salvage(directory, suspect, mayRestore, signal)), ...(await salvage(books, suspect, mayRestore, signal))];
    const restoredKeyIds = salvaged.find(({ table }) => table === 'keys')?.restored.map(([id]) => id as string) ?? [];
    const batches = await restoreBatches(fresh, path, backup, { keys: new Set(restoredKeyIds), jobs: jobIds(fresh, salvaged) }, signal);
    for (const [seq] of salvaged.find(({ table }) => table === 'batches')?.restored ?? [])
      fresh.books.prepare('UPDATE batches SET looked_at = NULL WHERE seq = ?').run(seq as number);
    if (batches.files > 0) fresh.books.exec('UPDATE batches SET looked_at = NULL');
    await rebuild(fresh, () => yieldToAbort(signal));
    const restored = salvaged.find(({ table }) => table === 'people')?.restored.map(([seq]) => seq as number) ?? [];
    const erased = transaction(fresh, () => eraseAgain(fresh, path, isInStep(old) ? restored : undefined));
    finishErasures(fresh);
    [fresh, fresh.books].forEach(checkFresh);
    return {
      tables: salvaged.map(({ table, copied, restored, superseded, lost }) => ({
        table,
        kept: copied,
        restored: restored.length,
        superseded,
        lost: lost.count,
        lost_names: lost.names,
      })),
      keys: restoredKeys(fresh, restoredKeyIds),
      people_erased: erased,
      erasures_known: erasuresKnown,
      batches,
    };
  } finally {
    fresh.close();
  }
}

/** Ids of the batch jobs that were restored from the backup. */
function jobIds(fresh: Store, salvaged: readonly Salvaged[]): ReadonlySet<string> {
  const find = fresh.books.prepare('SELECT id FROM batches WHERE seq = ?');
  return new Set(salvaged.find(({ table }) => table === 'batches')?.restored.map(([seq]) => find.get(seq as number)?.['id'] as string));
}

function checkFresh(fresh: DatabaseSync): void {
  fresh.exec('PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE');
  if (!isWhole(fresh))
    throw new StorageError('restore_failed', 'the new store is damaged as well', {
      hint: 'Look after the disk, then run the same command: the store is as it was.',
    });
}

function isWhole(file: DatabaseSync): boolean {
  return file.prepare('PRAGMA quick_check(1)').get()?.['quick_check'] === 'ok';
}

/** Keeps the id of the books, so that a file that is not replaced yet still belongs to them, and the erasures that are not done. */
function keepState(books: Files, directory: Files): void {
  const states = [books.old, books.backup].flatMap((file) => readRow(file, 'SELECT id, open_since FROM books_state'));
  const id = states[0]?.['id'] ?? readRow(directory.old, 'SELECT books AS id FROM directory_state')[0]?.['id'];
  if (id !== undefined) {
    books.fresh.prepare('UPDATE books_state SET id = ?').run(id as Uint8Array);
    directory.fresh.prepare('UPDATE directory_state SET books = ?').run(id as Uint8Array);
  }
  const open = states.flatMap(({ open_since: since }) => (since === null ? [] : [since as number]));
  if (open.length > 0) books.fresh.prepare('UPDATE books_state SET open_since = ?').run(Math.min(...open));
}

/** Whether the damaged directory had done every erasure of the damaged books. */
function isInStep({ directory, books }: OldFiles): boolean {
  const [done] = readRow(directory, 'SELECT erasures FROM directory_state');
  const [counted] = readRow(books, 'SELECT erasures FROM books_state');
  return done !== undefined && done['erasures'] === counted?.['erasures'];
}

/** No row when it cannot be read. */
function readRow(file: DatabaseSync | null, sql: string): Row[] {
  try {
    return file?.prepare(sql).all() ?? [];
  } catch (error) {
    if (!isDamage(error)) throw error;
    return [];
  }
}

/** Ids of the API keys whose books were restored from the backup. */
function restoredKeys(fresh: Store, ids: readonly string[]): RestoredContents['keys'] {
  const find = fresh.books.prepare('SELECT id, label, credits, credits_used, calls_used FROM keys WHERE id = ?');
  return ids.map((id) => find.get(id) as unknown as RestoredContents['keys'][number]);
}
