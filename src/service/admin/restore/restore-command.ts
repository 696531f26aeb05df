/** `millrace check --restore` and `--rebuild`: builds a new store from the readable rows of a damaged one and from a backup. */
import { existsSync, realpathSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { EXIT, InputError, MillraceError, StorageError, UsageError } from '../../../util/errors.ts';
import { checkStore, checkVersion, openReadOnly, tidyLog, type CheckResult } from '../check/check-store.ts';
import { yieldToAbort } from '../check/record-check.ts';
import { isDamage } from '../check/scan.ts';
import { flush } from '../export/atomic-output.ts';
import { StoreOwner } from '../../store/owner/store-owner.ts';
import { storeFailure } from '../../store/failure.ts';
import { openStore } from '../../store/open-store.ts';
import { rebuild } from '../../store/rebuild.ts';
import type { Store } from '../../store/store.ts';
import { copyErasures, eraseAgain, restoreTest } from './erase-again.ts';
import { restorationText, type Restoration } from './restoration.ts';
import { restoreBatches, type BackupOf } from './restore-batches.ts';
import { salvage, type Salvaged, type Stores } from './salvage.ts';
import { holdStore, swapIn, type HeldStore } from './swap.ts';

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
      if (source?.wasOpen === false) tidyLog(source.path);
    }
  } catch (error) {
    throw storeFailure(error, path);
  }
}

/** @throws InputError when the path is not a backup, or the backup is damaged */
function openBackup(backupPath: string): BackupOf & { readonly wasOpen: boolean } {
  if (!existsSync(backupPath))
    throw new InputError('backup_missing', `There is no backup ${backupPath}`, { hint: 'Check the name given with --restore.' });
  // The batch-job files are beside the file itself, not beside a link to it.
  const path = realpathSync(backupPath);
  const wasOpen = existsSync(`${path}-wal`);
  const store = openReadOnly(path);
  try {
    checkVersion(store, path);
    if (store.prepare('PRAGMA quick_check(1)').get()?.['quick_check'] === 'ok') return { path, store, wasOpen };
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
  const isLost = !existsSync(path);
  const checked: CheckResult | null = isLost ? null : await checkStore(path, nowMs, signal);
  if (checked?.isDamaged === false) return null;
  const held: HeldStore = isLost ? { store: null, aside: null } : await holdStore(path, backup?.path ?? null, nowMs);
  const freshPath = `${path}.restoring`;
  try {
    await discard(freshPath);
    const suspect = new Set(checked?.findings.flatMap(({ code, table }) => (code === 'records_damaged' && table !== null ? [table] : [])));
    const contents = await fillStore(
      { old: held.store, backup: backup?.store ?? null, fresh: openStore(freshPath) },
      path,
      backup,
      suspect,
      signal,
    );
    await flush(freshPath);
    const oldPath = await swapIn(path, freshPath, held, nowMs);
    return { store: path, restored: true, old: oldPath, backup: backup?.path ?? null, ...contents };
  } finally {
    held.store?.close();
    await discard(freshPath);
  }
}

async function discard(path: string): Promise<void> {
  for (const end of ['', '-wal', '-shm', '-journal']) await rm(path + end, { force: true });
}

type RestoredContents = Pick<Restoration, 'tables' | 'keys' | 'people_erased' | 'erasures_known' | 'batches'>;

/** Fills the new store and closes it, with everything in one file. */
async function fillStore(
  stores: Stores,
  path: string,
  backup: BackupOf | null,
  suspect: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<RestoredContents> {
  const { fresh } = stores;
  try {
    // Unsafe settings are fine: nobody opens the new store before it is complete.
    fresh.exec('PRAGMA synchronous = OFF');
    const erasuresKnown = copyErasures(stores, path);
    const salvaged = await salvage(stores, suspect, restoreTest(stores), signal);
    const restoredKeyIds = salvaged.find(({ table }) => table === 'keys')?.restored.map(([id]) => id as string) ?? [];
    const batches = await restoreBatches(fresh, path, backup, { keys: new Set(restoredKeyIds), jobs: jobIds(fresh, salvaged) }, signal);
    for (const [seq] of salvaged.find(({ table }) => table === 'batches')?.restored ?? [])
      fresh.prepare('UPDATE batches SET looked_at = NULL WHERE seq = ?').run(seq as number);
    if (batches.files > 0) fresh.exec('UPDATE batches SET looked_at = NULL');
    await rebuild(fresh, () => yieldToAbort(signal));
    const erased = eraseAgain(fresh, path, salvaged);
    checkFresh(fresh);
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
  const find = fresh.prepare('SELECT id FROM batches WHERE seq = ?');
  return new Set(salvaged.find(({ table }) => table === 'batches')?.restored.map(([seq]) => find.get(seq as number)?.['id'] as string));
}

function checkFresh(fresh: Store): void {
  fresh.exec('PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE');
  const result = fresh.prepare('PRAGMA quick_check(1)').get()?.['quick_check'];
  if (result !== 'ok')
    throw new StorageError('restore_failed', `the new store is damaged as well: ${String(result)}`, {
      hint: 'Look after the disk, then run the same command: the store is as it was.',
    });
}

/** Ids of the API keys whose books were restored from the backup. */
function restoredKeys(fresh: Store, ids: readonly string[]): RestoredContents['keys'] {
  const find = fresh.prepare('SELECT id, label, credits, credits_used, calls_used FROM keys WHERE id = ?');
  return ids.map((id) => find.get(id) as unknown as RestoredContents['keys'][number]);
}
