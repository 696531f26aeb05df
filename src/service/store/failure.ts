/** Errors for a store that fails. */
import { MillraceError, StorageError, storageHint } from '../../util/errors.ts';
import { isBusy } from '../../sqlite/busy.ts';
import { isUnreadable, isDiskFailure, systemCodeOf } from '../../sqlite/system-code.ts';
import { diskCodeOf } from './store-disk.ts';

/** Turns errors of SQLite and of the disk into a StorageError for the operator; other errors pass unchanged. */
export function storeFailure(error: unknown, path: string): unknown {
  if (error instanceof MillraceError || !(error instanceof Error)) return error;
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'ERR_SQLITE_ERROR' && !/^E[A-Z]+$/.test(code ?? '')) return error;
  if (isUnreadable(error)) return damagedStore(error, path);
  const busy = isBusy(error);
  const cause = isDiskFailure(error) ? diskCodeOf(error, path) : systemCodeOf(error);
  return new StorageError(
    busy ? 'store_busy' : 'store_failed',
    `the store ${path} could not be ${busy ? 'written: another process has it' : 'used'}: ${error.message}`,
    {
      hint: busy ? 'Wait until it has ended, and run the same command again.' : storageHint({ code: cause }, 'it goes on where it can'),
      cause: error,
    },
  );
}

/** The error for a store with damage, or on a disk that cannot be read. */
export function damagedStore(cause: unknown, path: string): StorageError {
  return new StorageError(
    'store_unreadable',
    `a part of the store ${path} is damaged: ${cause instanceof Error ? cause.message : String(cause)}`,
    {
      hint: `\`millrace check --store ${path}\` says what is damaged and how it is restored; after that run the same command again.`,
      cause,
    },
  );
}
