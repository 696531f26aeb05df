import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';

/** The header of a SQLite file (sqlite.org/fileformat.html, 1.3) has the page size and the number of pages. */
const HEADER_BYTES = 100;
const PAGE_SIZE_AT = 16;
const PAGES_AT = 28;

/**
 * Throws when a file without a write-ahead log ends before its last page: SQLite would read zeros for the rest. A log may hold the rest, so
 * a file with one passes. SQLite itself refuses files of another kind.
 */
export function checkNotTruncated(path: string): void {
  const log = `${path}-wal`;
  if (existsSync(log) || !existsSync(path)) return;
  const file = openSync(path, 'r');
  try {
    const header = Buffer.alloc(HEADER_BYTES);
    if (readSync(file, header, 0, HEADER_BYTES, 0) < HEADER_BYTES) return;
    const expected = header.readUInt32BE(PAGES_AT) * header.readUInt16BE(PAGE_SIZE_AT);
    const { size } = fstatSync(file);
    // A job that has opened it meanwhile may be writing to it.
    if (header.toString('latin1', 0, 15) === 'SQLite format 3' && size < expected && !existsSync(log))
      throw new Error(`it has ${size} bytes and should have ${expected}: it was cut off`);
  } finally {
    closeSync(file);
  }
}
