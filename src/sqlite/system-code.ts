/** What the system calls a failure of SQLite or of Node. */
import { constants } from 'node:os';

/** What the system calls a failure that SQLite has a number of its own for (sqlite.org/rescode.html): read-only, full. */
const SYSTEM_CODES: Readonly<Record<number, string>> = { 8: 'EROFS', 13: 'ENOSPC' };
/** Of reading or writing at all; what of, SQLite does not say. */
const SQLITE_IOERR = 10;
const SQLITE_READONLY_DBMOVED = 1_032;
/** The file is damaged; it is no database at all. */
const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;
/** Of reading: by the disk, beyond the end of the file, by the file system's and by a page's checksum. */
const UNREADABLE: readonly number[] = [266, 522, 8_458, 8_202];

/** It is the disk then, and not the name of the file. */
const FULL: readonly string[] = ['ENOSPC', 'EDQUOT', 'EFBIG'];
const OF_THE_DISK: readonly string[] = [...FULL, 'EIO', 'EROFS', 'EMFILE', 'ENFILE'];

/** Node has no name for this one. */
const EDQUOT = -constants.errno.EDQUOT;

interface Failure {
  readonly code?: unknown;
  readonly errno?: unknown;
  readonly errcode?: unknown;
}

/** The system's name of what went wrong with a file, be it SQLite or Node that says so; undefined where it has none. */
export function systemCodeOf(error: unknown): string | undefined {
  const { code, errno, errcode } = (error ?? {}) as Failure;
  if (typeof errcode === 'number') return SYSTEM_CODES[errcode & 0xff];
  if (errno === EDQUOT) return 'EDQUOT';
  return typeof code === 'string' && /^E[A-Z0-9]+$/.test(code) ? code : undefined;
}

/** Whether the disk failed, or the machine had nothing left for another file. */
export function isOfDisk(error: unknown): boolean {
  const { errcode } = (error ?? {}) as Failure;
  return (typeof errcode === 'number' && (errcode & 0xff) === SQLITE_IOERR) || OF_THE_DISK.includes(systemCodeOf(error) ?? '');
}

/** Whether a page of the file is damaged, or cannot be read back from the disk. Other pages may be well. */
export function isDamage(error: unknown): boolean {
  const { errcode } = (error ?? {}) as Failure;
  if (typeof errcode !== 'number') return false;
  return (errcode & 0xff) === SQLITE_CORRUPT || (errcode & 0xff) === SQLITE_NOTADB || UNREADABLE.includes(errcode);
}

/** Whether the file has never been a database, as far as its first page tells. */
export function isForeign(error: unknown): boolean {
  return ((error ?? {}) as Failure).errcode === SQLITE_NOTADB;
}

/** Whether a disk took no more bytes: it is full, or a quota or a limit of the size of files is reached. */
export function isFull(error: unknown): boolean {
  return FULL.includes(systemCodeOf(error) ?? '');
}

/** Whether the file that is open has been moved or removed since, so that nothing may be written to it. */
export function isMoved(error: unknown): boolean {
  return ((error ?? {}) as Failure).errcode === SQLITE_READONLY_DBMOVED;
}
