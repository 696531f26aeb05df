/** Checks the header and the length of a store's file before SQLite opens it (sqlite.org/fileformat.html). */
import { openSync, closeSync, existsSync, fstatSync, readSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import type { Finding } from './finding.ts';

const MAGIC = 'SQLite format 3\0';
export const HEADER_BYTES = 100;
const [PAGE_SIZE_AT, PAGES_AT] = [16, 28];

interface FileShape {
  /** Null when the header has no valid page size. */
  readonly pageBytes: number | null;
  /** The number of pages by the header. */
  readonly pages: number;
  readonly bytes: number;
}

export function fileShape(path: string): FileShape {
  const file = openSync(path, 'r');
  try {
    const header = Buffer.alloc(HEADER_BYTES);
    const read = readSync(file, header, 0, HEADER_BYTES, 0);
    const size = header.readUInt16BE(PAGE_SIZE_AT);
    const pageBytes = size === 1 ? 65_536 : size;
    const isHeader =
      read === HEADER_BYTES &&
      header.toString('latin1', 0, MAGIC.length) === MAGIC &&
      pageBytes >= 512 &&
      (pageBytes & (pageBytes - 1)) === 0;
    return { pageBytes: isHeader ? pageBytes : null, pages: header.readUInt32BE(PAGES_AT), bytes: fstatSync(file).size };
  } finally {
    closeSync(file);
  }
}

/** Whether the log may have pages that the file lacks. */
function hasLog(path: string): boolean {
  return (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/** The damage of the file itself. Then SQLite cannot read any of it. */
export function checkFile(path: string): Finding[] {
  if (!existsSync(path))
    return [
      {
        code: 'file_damaged',
        table: null,
        detail: `the file ${basename(path)} is missing`,
        names: [],
        count: null,
        remedy: 'backup',
      },
    ];
  const { pageBytes, pages, bytes } = fileShape(path);
  if (pageBytes === null)
    return [
      {
        code: 'file_damaged',
        table: null,
        detail: `the header of ${basename(path)} is damaged, so nothing of that file can be read`,
        names: [],
        count: null,
        remedy: 'backup',
      },
    ];
  const missing = pages * pageBytes - bytes;
  if (missing <= 0 || hasLog(path)) return [];
  return [
    {
      code: 'file_cut',
      table: null,
      detail: `${basename(path)} is cut short: ${missing} of its ${pages * pageBytes} bytes are missing`,
      names: [],
      count: null,
      remedy: 'backup',
    },
  ];
}
