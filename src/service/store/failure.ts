/** A failure of the store's file, in words. */
import { MillraceError, StorageError, storageHint } from '../../errors.ts';
import { isBusy } from '../../sqlite/busy.ts';
import { isDamage, isOfDisk, systemCodeOf } from '../../sqlite/system-code.ts';
import { diskCodeOf } from './store-disk.ts';

/** What ended a command that uses the store: errors of SQLite and of the disk become a StorageError, all else passes. */
export function storeFailure(error: unknown, path: string): unknown {
  if (error instanceof MillraceError || !(error instanceof Error)) return error;
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'ERR_SQLITE_ERROR' && !/^E[A-Z]+$/.test(code ?? '')) return error;
  if (isDamage(error)) return damagedStore(error, path);
  const busy = isBusy(error);
  const cause = isOfDisk(error) ? diskCodeOf(error, path) : systemCodeOf(error);
  return new StorageError(busy ? 'store_busy' : 'store_failed', `the store ${path} could not be ${busy ? 'written: another process has it' : 'used'}: ${error.message}`, {
    hint: busy ? 'Wait until it has ended, and run the same command again.' : storageHint({ code: cause }, 'it goes on where it can'),
    cause: error,
  });
}

/** A store in which something is damaged, or that the disk does not give back. */
export function damagedStore(cause: unknown, path: string): StorageError {
  return new StorageError('store_unreadable', `a part of the store ${path} is damaged: ${cause instanceof Error ? cause.message : String(cause)}`, {
    hint: `\`millrace check --store ${path}\` says what is damaged and how it is restored; after that run the same command again.`,
    cause,
  });
}
