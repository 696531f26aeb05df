import { ConfigError, EXIT, MillraceError, StorageError, storageHint } from '../util/errors.ts';
import { isBusy } from '../sqlite/busy.ts';
import { systemCodeOf } from '../sqlite/system-code.ts';

/** SQLite's code for a file that is no database (sqlite.org/rescode.html). */
const NOT_A_LEDGER = 26;

/** A damaged database. SQLite also reports it for a disk that could not read (with SQLITE_IOERR_CORRUPTFS). */
const CORRUPT = 11;

/** Whether the file is damaged, truncated or no database. A full or missing disk is not damage. */
export function isLedgerDamage(error: unknown): boolean {
  const { cause } = error as { cause?: { errcode?: number; message?: string } };
  return [CORRUPT, NOT_A_LEDGER].includes((cause?.errcode ?? 0) & 0xff) || (cause?.message ?? '').endsWith(': it was cut off');
}

/** Turns a failure of SQLite or the disk into an error for the user. Program faults are thrown on. */
export function ledgerFailure(path: string, error: unknown): MillraceError {
  if (error instanceof MillraceError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const resultCode = Number((error as { errcode?: unknown }).errcode ?? 0) & 0xff;
  if (resultCode === NOT_A_LEDGER || message.startsWith('it ')) {
    return new ConfigError('ledger_unreadable', `the ledger ${path} cannot be used: ${message}`, {
      hint: 'Move it away and run the same command again, or name another file with --ledger and start over with --fresh.',
      cause: error,
    });
  }
  if (isBusy(error)) {
    return busyFailure(path, error);
  }
  if (resultCode === CORRUPT) {
    // Paid answers are in it: the user must not move it away because a disk failed once.
    return new StorageError('ledger_failed', `the ledger ${path} is damaged, or the disk could not read it: ${message}`, {
      hint:
        'Look after the disk and run the same command. If it says the same ' +
        'again, move the ledger away: what it held is then asked for anew.',
      cause: error,
    });
  }
  if (resultCode === 0 && typeof (error as { code?: unknown }).code !== 'string') throw error;
  return new StorageError('ledger_failed', `the ledger ${path} could not be read or written: ${message}`, {
    hint: storageHint({ code: systemCodeOf(error) }),
    cause: error,
  });
}

/** Another process keeps the ledger locked for longer than a run waits. */
export function busyFailure(path: string, cause?: unknown): MillraceError {
  return new MillraceError(
    EXIT.stopped,
    'ledger_busy',
    `another process keeps the ledger ${path} locked: it may be paused in the middle of writing`,
    {
      hint: 'End or wake it, then run the same command: the job resumes.',
      cause,
    },
  );
}
