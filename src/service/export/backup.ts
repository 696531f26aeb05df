/** A copy of the whole store as it is at one moment, while it is served and imported into. */
import { existsSync, realpathSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { backup } from 'node:sqlite';
import { InputError, MillraceError, StorageError, storageHint, UsageError } from '../../errors.ts';
import { openExistingStore } from '../store/open-store.ts';
import { flush, writeWhole } from './whole-file.ts';

/** Copied between two looks at the signals: 32 MiB. */
const PAGES_AT_ONCE = 8_192;

/**
 * Copies the store `from` into the file `to`, which appears at its name when it is whole (0600), and is a store itself. Prints its size.
 * It takes the place of a file of that name. @throws InputError when there is no store, or `to` is one in use; UsageError when both are one file; StorageError when the copy cannot be written
 */
export async function backupCommand(from: string, to: string, signal: AbortSignal): Promise<void> {
  if (existsSync(from) && existsSync(to) && realpathSync(from) === realpathSync(to)) throw new UsageError('same_file', `the store ${from} cannot be its own backup`, { hint: 'Name another file with --backup.' });
  refuseInUse(to);
  const store = openExistingStore(from);
  try {
    // All pages of one moment: what is written meanwhile would begin the copy again and again.
    store.exec('BEGIN');
    store.prepare('SELECT 1 FROM companies LIMIT 1').get();
    const size = await writeWhole(to, async (partial) => {
      await backup(store, partial, { rate: PAGES_AT_ONCE, progress: () => signal.throwIfAborted() });
      signal.throwIfAborted();
      await flush(partial);
      // Copying takes minutes, and somebody may have opened what was an earlier backup.
      refuseInUse(to);
      return (await stat(partial)).size;
    });
    const jobs = Number(store.prepare('SELECT count(*) AS n FROM batches').get()?.['n']);
    if (jobs > 0) process.stderr.write(`millrace: the backup knows of ${jobs} batch ${jobs === 1 ? 'job' : 'jobs'}, and has neither their lines nor their results: those are in ${from}.batches.\n`);
    process.stdout.write(`${JSON.stringify({ backup: to, bytes: size })}\n`);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof MillraceError) throw error;
    throw new StorageError('backup_failed', `cannot copy the store to ${to}: ${error instanceof Error ? error.message : String(error)}`, { hint: storageHint(error, 'it starts over'), cause: error });
  } finally {
    store.close();
  }
}

function refuseInUse(path: string): void {
  const log = `${path}-wal`;
  if (existsSync(log)) throw new InputError('output_not_ours', `${path} is a store that is in use, or was not closed: ${log} lies beside it, and would be taken for the backup's`, { hint: 'Name another file with --backup.' });
}
