/** A copy of the whole store as it is at one moment, while it is served and imported into. */
import { existsSync, realpathSync, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { backup, DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { InputError, MillraceError, StorageError, storageHint, UsageError } from '../../errors.ts';
import { holdFiles, namedFiles, type HeldFiles } from '../batches/held-files.ts';
import { fileShape } from '../check/file-check.ts';
import { nameOfStore } from '../owner/store-name.ts';
import { damagedStore } from '../store/failure.ts';
import { openExistingStore } from '../store/open-store.ts';
import { isDamage } from '../../sqlite/system-code.ts';
import type { Store } from '../store/store.ts';
import { bringFiles, dropOthers } from './batch-files.ts';
import { flush, writeWhole } from './whole-file.ts';

/** Copied between two looks at the signals: 32 MiB. */
const PAGES_AT_ONCE = 8_192;
/** A file may be removed between the moment of the copy and the link that holds it; what is missing three times is lost. */
const MOMENTS = 3;

/**
 * Copies the store `from` into the file `to`, which appears at its name when it is whole (0600), and is a store itself; the files of its batch jobs lie in `to.batches` by then. Prints the sizes.
 * It takes the place of an earlier backup of that name. @throws InputError when there is no store, or `to` is one in use or another file; UsageError when both are one file;
 * StorageError when the copy cannot be written, or would copy damage
 */
export async function backupCommand(from: string, to: string, signal: AbortSignal): Promise<void> {
  if (existsSync(from) && existsSync(to) && realpathSync(from) === realpathSync(to)) throw new UsageError('same_file', `the store ${from} cannot be its own backup`, { hint: 'Name another file with --backup.' });
  refuseOther(to);
  refuseInUse(to);
  const store = openExistingStore(from);
  let held: HeldFiles | null = null;
  try {
    const { files, missing } = (held = await holdMoment(store, nameOfStore(from), signal));
    const holding = held;
    const size = await writeWhole(to, async (partial) => {
      await backup(store, partial, { rate: PAGES_AT_ONCE, progress: () => signal.throwIfAborted() });
      signal.throwIfAborted();
      refuseDamaged(partial, from);
      await flush(partial);
      await bringFiles(to, holding, signal);
      // Copying takes minutes, and somebody may have opened what was an earlier backup.
      refuseInUse(to);
      return (await stat(partial)).size;
    });
    await dropOthers(to, files);
    if (missing.length > 0) process.stderr.write(`millrace: ${missing.length} ${missing.length === 1 ? 'file of batch jobs is' : 'files of batch jobs are'} missing or cut short, and not in the backup: see \`millrace check --store ${from}\`.\n`);
    process.stdout.write(`${JSON.stringify({ backup: to, bytes: size, batches: { files: files.length, bytes: files.reduce((sum, { bytes }) => sum + bytes, 0) } })}\n`);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof MillraceError) throw error;
    throw new StorageError('backup_failed', `cannot copy the store to ${to}: ${error instanceof Error ? error.message : String(error)}`, { hint: storageHint(error, 'it starts over'), cause: error });
  } finally {
    store.close();
    await held?.release();
  }
}

/** Begins to read the store as it is now, and holds the files that it names now. Without one moment what is written meanwhile would begin the copy again and again. */
async function holdMoment(store: Store, from: string, signal: AbortSignal): Promise<HeldFiles> {
  for (let moment = 1; ; moment++) {
    signal.throwIfAborted();
    store.exec('BEGIN');
    const held = await holdFiles(from, namedFiles(store));
    if (held.missing.length === 0 || moment === MOMENTS) return held;
    await held.release();
    store.exec('COMMIT');
  }
}

/** A slip in the name must not cost a file of another kind. What is no regular file is refused where the copy begins. */
function refuseOther(path: string): void {
  const there = statSync(path, { throwIfNoEntry: false });
  if (there?.isFile() === true && there.size > 0 && fileShape(path).pageBytes === null) throw new InputError('output_not_ours', `${path} exists, and is no backup of a store`, { hint: 'Name another file with --backup, or move that one away.' });
}

/** SQLite copies pages as they are. A copy of damage must not take the place of the backup that could mend it. */
function refuseDamaged(copy: string, from: string): void {
  // Nobody writes the copy. Otherwise SQLite would leave a log beside it.
  const store = new DatabaseSync(new URL(`${pathToFileURL(copy).href}?immutable=1`), { readOnly: true });
  try {
    const found = store.prepare('PRAGMA quick_check(1)').get()?.['quick_check'];
    if (found !== 'ok') throw damagedStore(found, from);
  } catch (error) {
    throw isDamage(error) ? damagedStore(error, from) : error;
  } finally {
    store.close();
  }
}

function refuseInUse(path: string): void {
  const log = `${path}-wal`;
  if (existsSync(log)) throw new InputError('output_not_ours', `${path} is a store that is in use, or was not closed: ${log} lies beside it, and would be taken for the backup's`, { hint: 'Name another file with --backup.' });
}
