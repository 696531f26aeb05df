/** The lowest byte of what SQLite fails with: another connection holds the lock (sqlite.org/rescode.html). */
const SQLITE_BUSY = 5;

/** Whether SQLite has failed, rather than what makes use of it. */
export function isOfStore(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error;
}

/** Whether an error of SQLite is that another connection has the file for longer than this one waits. */
export function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' && (error.errcode & 0xff) === SQLITE_BUSY;
}
