/** Copies the complete store from one snapshot, while a service or an import uses it. */
import { existsSync, realpathSync, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { backup, DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { InputError, MillraceError, StorageError, storageHint, UsageError } from '../../../util/errors.ts';
import { holdFiles, namedFiles, type HeldFiles } from '../../batches/held-files.ts';
import { fileShape } from '../check/file-check.ts';
import { booksOf, nameOfStore } from '../../store/owner/store-name.ts';
import { damagedStore } from '../../store/failure.ts';
import { openExistingStore } from '../../store/open-store.ts';
import { isUnreadable } from '../../../sqlite/system-code.ts';
import { beginWriting } from '../../../sqlite/transaction.ts';
import type { Store } from '../../store/store.ts';
import { bringFiles, dropOthers } from './backup-batch-files.ts';
import { flush, writeAtomically } from './atomic-output.ts';

/** Bytes copied between two checks of the abort signal: 32 MiB. */
const PAGES_AT_ONCE = 8_192;
/** A file may be removed after the snapshot and before it is linked. A file that is missing three times counts as lost. */
const MOMENTS = 3;
/** How long to wait for an import or an erasure that writes, milliseconds. */
const WAIT_MS = 60_000;

/**
 * Copies the store `from` into the file `to` and the books beside it (mode 0600), which appear under their names when they are complete.
 * The copy is a store itself, and its batch-job files are in `to.batches`. Prints the sizes. An earlier backup of that name is replaced.
 * @throws InputError when `from` does not exist, or `to` is a store in use or another file; UsageError when both are the same file;
 * StorageError when the copy cannot be written, or the store is damaged
 */
export async function backupCommand(from: string, to: string, signal: AbortSignal): Promise<void> {
  const own = filesOf(from)
    .filter(existsSync)
    .map((file) => realpathSync(file));
  if (filesOf(to).some((file) => existsSync(file) && own.includes(realpathSync(file))))
    throw new UsageError('same_file', `the store ${from} cannot be its own backup`, { hint: 'Name another file with --backup.' });
  filesOf(to).forEach(refuseOther);
  filesOf(to).forEach(refuseInUse);
  const store = openExistingStore(from);
  let held: HeldFiles | null = null;
  try {
    const { files, missing } = (held = await holdMoment(store, nameOfStore(from), signal));
    const holding = held;
    const copy = async (file: DatabaseSync, partial: string): Promise<number> => {
      await backup(file, partial, { rate: PAGES_AT_ONCE, progress: () => signal.throwIfAborted() });
      signal.throwIfAborted();
      refuseDamaged(partial, from);
      await flush(partial);
      return (await stat(partial)).size;
    };
    const size = await writeAtomically(to, async (partial) => {
      const directory = await copy(store, partial);
      // The batch-job files appear first, then the books that name them, then the directory that counts on the books.
      const books = await writeAtomically(booksOf(to), async (other) => {
        const bytes = await copy(store.books, other);
        await bringFiles(to, holding, signal);
        // Copying takes minutes: another process may have opened the earlier backup since.
        filesOf(to).forEach(refuseInUse);
        return bytes;
      });
      return directory + books;
    });
    await dropOthers(to, files);
    if (missing.length > 0)
      process.stderr.write(
        `millrace: ${missing.length} ${missing.length === 1 ? 'file of batch jobs is' : 'files of batch jobs are'} missing or cut ` +
          `short, and not in the backup: see \`millrace check --store ${from}\`.\n`,
      );
    process.stdout.write(
      JSON.stringify({
        backup: to,
        bytes: size,
        batches: { files: files.length, bytes: files.reduce((sum, { bytes }) => sum + bytes, 0) },
      }) + '\n',
    );
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof MillraceError) throw error;
    throw new StorageError('backup_failed', `cannot copy the store to ${to}: ${error instanceof Error ? error.message : String(error)}`, {
      hint: storageHint(error, 'it starts over'),
      cause: error,
    });
  } finally {
    store.close();
    await held?.release();
  }
}

/** The paths of a store's files. */
function filesOf(store: string): string[] {
  return [store, booksOf(store)];
}

/** Opens a snapshot of the store, and links the files that it names. Without one snapshot, every write meanwhile would restart the copy. */
async function holdMoment(store: Store, from: string, signal: AbortSignal): Promise<HeldFiles> {
  for (let moment = 1; ; moment++) {
    signal.throwIfAborted();
    beginReading(store, from);
    const held = await holdFiles(from, namedFiles(store));
    if (held.missing.length === 0 || moment === MOMENTS) return held;
    await held.release();
    for (const file of [store, store.books]) file.exec('COMMIT');
  }
}

/**
 * Begins to read both files at one moment: first the directory, then the books. Meanwhile nobody may write the directory, because an
 * erasure is in the books before the directory has it.
 */
function beginReading(store: Store, from: string): void {
  const writer = new DatabaseSync(from, { timeout: WAIT_MS });
  try {
    beginWriting(writer);
    // A transaction begins to read with its first statement.
    for (const file of [store, store.books]) file.exec('BEGIN; SELECT 1 FROM sqlite_schema');
  } finally {
    writer.close();
  }
}

/** Refuses to overwrite a file of another kind after a typing error. Paths that are not a regular file are refused when the copy begins. */
function refuseOther(path: string): void {
  const existing = statSync(path, { throwIfNoEntry: false });
  if (existing?.isFile() === true && existing.size > 0 && fileShape(path).pageBytes === null)
    throw new InputError('output_not_ours', `${path} exists, and is no backup of a store`, {
      hint: 'Name another file with --backup, or move that one away.',
    });
}

/** SQLite copies pages unchecked. A damaged copy must not replace a backup that could repair the store. */
function refuseDamaged(copy: string, from: string): void {
  // The copy is read only. Otherwise SQLite would leave a log beside it.
  const store = new DatabaseSync(new URL(`${pathToFileURL(copy).href}?immutable=1`), { readOnly: true });
  try {
    const found = store.prepare('PRAGMA quick_check(1)').get()?.['quick_check'];
    if (found !== 'ok') throw damagedStore(found, from);
  } catch (error) {
    throw isUnreadable(error) ? damagedStore(error, from) : error;
  } finally {
    store.close();
  }
}

function refuseInUse(path: string): void {
  const log = `${path}-wal`;
  if (existsSync(log))
    throw new InputError(
      'output_not_ours',
      `${path} is a store that is in use, or was not closed: ${log} lies beside it, and would be taken for the backup's`,
      { hint: 'Name another file with --backup.' },
    );
}
