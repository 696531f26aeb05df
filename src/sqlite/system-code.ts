/** The system error behind a failure of SQLite or Node. */
import { constants } from 'node:os';

/** System errors that have an SQLite result code of their own (sqlite.org/rescode.html): read-only, full. */
const SYSTEM_CODES: Readonly<Record<number, string>> = { 8: 'EROFS', 13: 'ENOSPC' };
/** A read or a write failed. SQLite does not name the system error. */
const SQLITE_IOERR = 10;
const SQLITE_READONLY_DBMOVED = 1_032;
/** The file is damaged (11), or is not a database (26). */
const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;
/** Reads that failed: disk error, end of file, file system error, page checksum. */
const UNREADABLE: readonly number[] = [266, 522, 8_458, 8_202];

/** The disk is the cause, not the path. */
const FULL: readonly string[] = ['ENOSPC', 'EDQUOT', 'EFBIG'];
const OF_THE_DISK: readonly string[] = [...FULL, 'EIO', 'EROFS', 'EMFILE', 'ENFILE'];

/** Node has no name for this error. */
const EDQUOT = -constants.errno.EDQUOT;

interface Failure {
  readonly code?: unknown;
  readonly errno?: unknown;
  readonly errcode?: unknown;
}

/** The system's name of an error with a file, thrown by SQLite or by Node. Undefined when the error has none. */
export function systemCodeOf(error: unknown): string | undefined {
  const { code, errno, errcode } = (error ?? {}) as Failure;
  if (typeof errcode === 'number') return SYSTEM_CODES[errcode & 0xff];
  if (errno === EDQUOT) return 'EDQUOT';
  return typeof code === 'string' && /^E[A-Z0-9]+$/.test(code) ? code : undefined;
}

/** True when the disk failed, or the machine had no resources for another file. */
export function isDiskFailure(error: unknown): boolean {
  const { errcode } = (error ?? {}) as Failure;
  return (typeof errcode === 'number' && (errcode & 0xff) === SQLITE_IOERR) || OF_THE_DISK.includes(systemCodeOf(error) ?? '');
}

/** True when a page of the file is damaged or cannot be read from the disk. Other pages may be intact. */
export function isUnreadable(error: unknown): boolean {
  const { errcode } = (error ?? {}) as Failure;
  if (typeof errcode !== 'number') return false;
  return (errcode & 0xff) === SQLITE_CORRUPT || (errcode & 0xff) === SQLITE_NOTADB || UNREADABLE.includes(errcode);
}

/** True when the first page shows that the file has never been a database. */
export function isForeign(error: unknown): boolean {
  return ((error ?? {}) as Failure).errcode === SQLITE_NOTADB;
}

/** True when the disk takes no more bytes: it is full, or a quota or a file size limit is reached. */
export function isFull(error: unknown): boolean {
  return FULL.includes(systemCodeOf(error) ?? '');
}

/** True when the open file was moved or removed, so that nothing may be written to it. */
export function isMoved(error: unknown): boolean {
  return ((error ?? {}) as Failure).errcode === SQLITE_READONLY_DBMOVED;
}
