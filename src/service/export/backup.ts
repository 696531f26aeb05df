/** A copy of the whole store as it is at one moment, while it is served and imported into. */
import { existsSync, realpathSync } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { backup } from 'node:sqlite';
import { StorageError, storageHint, UsageError } from '../../errors.ts';
import { openExistingStore } from '../store/open-store.ts';

/** Copied between two looks at the signals: 32 MiB. */
const PAGES_AT_ONCE = 8_192;

/**
 * Copies the store `from` into the file `to`, which appears at its name when it is whole (0600), and is a store itself. Prints its size.
 * @throws InputError when there is no store; UsageError when both are one file; StorageError when the copy cannot be written
 */
export async function backupCommand(from: string, to: string, signal: AbortSignal): Promise<void> {
  if (existsSync(from) && existsSync(to) && realpathSync(from) === realpathSync(to)) throw new UsageError('same_file', `the store ${from} cannot be its own backup`, { hint: 'Name another file with --backup.' });
  const store = openExistingStore(from);
  const partial = `${to}.partial`;
  try {
    // All pages of one moment: what is written meanwhile would begin the copy again and again.
    store.exec('BEGIN');
    store.prepare('SELECT 1 FROM companies LIMIT 1').get();
    await discard(partial);
    await (await open(partial, 'wx', 0o600)).close();
    await backup(store, partial, { rate: PAGES_AT_ONCE, progress: () => signal.throwIfAborted() });
    signal.throwIfAborted();
    await flush(partial);
    const { size } = await stat(partial);
    await rename(partial, to);
    await flush(dirname(to));
    const jobs = Number(store.prepare('SELECT count(*) AS n FROM batches').get()?.['n']);
    if (jobs > 0) process.stderr.write(`millrace: the backup knows of ${jobs} batch ${jobs === 1 ? 'job' : 'jobs'}, and has neither their lines nor their results: those are in ${from}.batches.\n`);
    process.stdout.write(`${JSON.stringify({ backup: to, bytes: size })}\n`);
  } catch (error) {
    await discard(partial);
    signal.throwIfAborted();
    throw new StorageError('backup_failed', `cannot copy the store to ${to}: ${error instanceof Error ? error.message : String(error)}`, { hint: storageHint(error, 'it starts over'), cause: error });
  } finally {
    store.close();
  }
}

/** What was copied so far, and the journal that SQLite leaves beside it when it could not even undo that. */
async function discard(partial: string): Promise<void> {
  for (const path of [partial, `${partial}-journal`]) await rm(path, { force: true });
}

async function flush(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
