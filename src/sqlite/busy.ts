/** The primary result code of SQLite for "another connection holds the lock" (sqlite.org/rescode.html). */
const SQLITE_BUSY = 5;

/** True when SQLite itself failed, and not the code that uses it. */
export function isSqliteError(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error;
}

/** True when another connection held the file for longer than this connection waits. */
export function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' && (error.errcode & 0xff) === SQLITE_BUSY;
}
