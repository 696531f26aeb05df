/** `millrace check --restore`, `--rebuild`: a store made anew of what can be read of it, and of a backup. */
import { existsSync, realpathSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { EXIT, InputError, MillraceError, StorageError, UsageError } from '../../errors.ts';
import { checkStore, checkVersion, openReadOnly, tidyLog, type CheckResult } from '../check/check-store.ts';
import { lookUp } from '../check/record-check.ts';
import { isDamage } from '../check/scan.ts';
import { flush } from '../export/whole-file.ts';
import { StoreOwner } from '../owner/store-owner.ts';
import { storeFailure } from '../store/failure.ts';
import { openStore } from '../store/open-store.ts';
import { rebuild } from '../store/rebuild.ts';
import type { Store } from '../store/store.ts';
import { bringErasures, eraseAgain, restoreTest } from './erase-again.ts';
import { restorationText, type Restoration } from './restoration.ts';
import { restoreBatches, type BackupOf } from './restore-batches.ts';
import { salvage, type Salvaged, type Stores } from './salvage.ts';
import { holdStore, swapIn, type HeldStore } from './swap.ts';

/** Makes the store anew where anything is damaged, and prints what became of it. @param backup its path; null: without one @throws MillraceError (75) while another process has the store open; InputError; StorageError */
export async function restoreCommand(path: string, backup: string | null, json: boolean, signal: AbortSignal): Promise<void> {
  try {
    if (backup !== null && existsSync(path) && existsSync(backup) && realpathSync(path) === realpathSync(backup)) throw new UsageError('same_file', `the store ${path} cannot be its own backup`, { hint: 'Name another file with --restore.' });
    const source = backup === null ? null : openBackup(backup);
    try {
      const restoration = await restore(path, source, signal);
      if (restoration === null) process.stdout.write(json ? `${JSON.stringify({ store: path, restored: false })}\n` : `${path}: no damage found, and nothing changed\n`);
      else process.stdout.write(json ? `${JSON.stringify(restoration)}\n` : restorationText(restoration));
    } finally {
      source?.store.close();
      if (source?.wasOpen === false) tidyLog(source.path);
    }
  } catch (error) {
    throw storeFailure(error, path);
  }
}

/** @throws InputError for a backup that is none, or damaged itself */
function openBackup(given: string): BackupOf & { readonly wasOpen: boolean } {
  if (!existsSync(given)) throw new InputError('backup_missing', `There is no backup ${given}`, { hint: 'Check the name given with --restore.' });
  // The files of its batch jobs lie beside the file itself, not beside a link to it.
  const path = realpathSync(given);
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

/** As the owner of the store, so that no service begins meanwhile. Null: nothing is damaged. */
async function restore(store: string, backup: BackupOf | null, signal: AbortSignal): Promise<Restoration | null> {
  if (!existsSync(store) && backup === null) throw new InputError('store_missing', `There is no store ${store}`, { hint: 'Name a backup that takes its place: --restore BACKUP.' });
  const owner = await StoreOwner.claim(store).catch((error: unknown) => {
    throw error instanceof MillraceError && error.exitCode === EXIT.stopped ? new MillraceError(EXIT.stopped, error.code, error.message, { hint: 'Stop that one, then run the same command.', cause: error }) : error;
  });
  try {
    // By the one name that it has: a symbolic link stays one.
    const made = await restoreAt(owner.path, backup, signal);
    return made === null ? null : { ...made, store };
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
  const making = `${path}.restoring`;
  try {
    await discard(making);
    const suspect = new Set(checked?.findings.flatMap(({ code, table }) => (code === 'records_damaged' && table !== null ? [table] : [])));
    const made = await make({ old: held.store, backup: backup?.store ?? null, fresh: openStore(making) }, path, backup, suspect, signal);
    await flush(making);
    const kept = await swapIn(path, making, held, nowMs);
    return { store: path, restored: true, old: kept, backup: backup?.path ?? null, ...made };
  } finally {
    held.store?.close();
    await discard(making);
  }
}

async function discard(path: string): Promise<void> {
  for (const end of ['', '-wal', '-shm', '-journal']) await rm(path + end, { force: true });
}

type Made = Pick<Restoration, 'tables' | 'keys' | 'people_erased' | 'erasures_known' | 'batches'>;

/** Fills the new store and closes it, all of it in its one file. */
async function make(stores: Stores, path: string, backup: BackupOf | null, suspect: ReadonlySet<string>, signal: AbortSignal): Promise<Made> {
  const { fresh } = stores;
  try {
    // Nobody looks at it before it is whole.
    fresh.exec('PRAGMA synchronous = OFF');
    const erasuresKnown = bringErasures(stores, path);
    const done = await salvage(stores, suspect, restoreTest(stores), signal);
    const restoredKeyIds = done.find(({ table }) => table === 'keys')?.restored.map(([id]) => id as string) ?? [];
    const batches = await restoreBatches(fresh, path, backup, { keys: new Set(restoredKeyIds), jobs: jobIds(fresh, done) }, signal);
    for (const [seq] of done.find(({ table }) => table === 'batches')?.restored ?? []) fresh.prepare('UPDATE batches SET looked_at = NULL WHERE seq = ?').run(seq as number);
    if (batches.files > 0) fresh.exec('UPDATE batches SET looked_at = NULL');
    await rebuild(fresh, () => lookUp(signal));
    const erased = eraseAgain(fresh, path, done);
    checkMade(fresh);
    return {
      tables: done.map(({ table, kept, restored, superseded, lost }) => ({ table, kept, restored: restored.length, superseded, lost: lost.count, lost_names: lost.names })),
      keys: restoredKeys(fresh, restoredKeyIds),
      people_erased: erased,
      erasures_known: erasuresKnown,
      batches,
    };
  } finally {
    fresh.close();
  }
}

/** Ids of the batch jobs whose rows are those of the backup. */
function jobIds(fresh: Store, done: readonly Salvaged[]): ReadonlySet<string> {
  const find = fresh.prepare('SELECT id FROM batches WHERE seq = ?');
  return new Set(done.find(({ table }) => table === 'batches')?.restored.map(([seq]) => find.get(seq as number)?.['id'] as string));
}

function checkMade(fresh: Store): void {
  fresh.exec('PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE');
  const said = fresh.prepare('PRAGMA quick_check(1)').get()?.['quick_check'];
  if (said !== 'ok') throw new StorageError('restore_failed', `the new store is damaged as well: ${String(said)}`, { hint: 'Look after the disk, then run the same command: the store is as it was.' });
}

/** Keys whose books are those of the backup. */
function restoredKeys(fresh: Store, ids: readonly string[]): Made['keys'] {
  const find = fresh.prepare('SELECT id, label, credits, credits_used, calls_used FROM keys WHERE id = ?');
  return ids.map((id) => find.get(id) as unknown as Made['keys'][number]);
}
