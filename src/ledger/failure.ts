import { ConfigError, EXIT, MillraceError, StorageError, storageHint } from '../errors.ts';

/** SQLite result codes (sqlite.org/rescode.html) that speak of the file's content rather than of the disk. */
const NOT_A_LEDGER = new Set([11, 26]);

/** Another connection holds the lock for longer than we wait. */
const BUSY = 5;

/** What the system calls those that SQLite has words of its own for. */
const SYSTEM_CODES: Readonly<Record<number, string>> = { 8: 'EROFS', 13: 'ENOSPC' };

/** What a failure of SQLite or the disk means for the person who meets it. A bug is thrown on as it is. */
export function ledgerFailure(path: string, error: unknown): MillraceError {
  if (error instanceof MillraceError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const resultCode = Number((error as { errcode?: unknown }).errcode ?? 0) & 0xff;
  const systemCode = (error as { code?: unknown }).code;
  if (NOT_A_LEDGER.has(resultCode) || message.startsWith('it ')) {
    return new ConfigError('ledger_unreadable', `the ledger ${path} cannot be used: ${message}`, { hint: 'Move it away, or name another file with --ledger.', cause: error });
  }
  if (resultCode === BUSY) {
    return new MillraceError(EXIT.stopped, 'ledger_busy', `another process keeps the ledger ${path} locked: it may be paused in the middle of writing`, { hint: 'End or wake it, then run the same command: the job resumes.', cause: error });
  }
  if (resultCode === 0 && typeof systemCode !== 'string') throw error;
  return new StorageError('ledger_failed', `the ledger ${path} could not be read or written: ${message}`, { hint: storageHint({ code: systemCode === 'ERR_SQLITE_ERROR' ? SYSTEM_CODES[resultCode] : systemCode }), cause: error });
}
