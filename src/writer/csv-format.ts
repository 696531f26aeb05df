/** Rows -> CSV bytes (RFC 4180): LF line ends, quotes where needed and nowhere else, UTF-8 without BOM. Pure. */

/** Formats one row, line end included. */
export type CsvRow = (cells: readonly string[]) => Buffer;

/** What a cell must be quoted for, the delimiter apart. */
const NEEDS_QUOTES = /["\r\n]/;

/** One empty cell: a bare line end would read back as no row at all. */
const EMPTY_ROW = Buffer.from('""\n');

export function csvRow(delimiter: string): CsvRow {
  return (cells) => {
    // Most rows need no quotes, and are their cells joined.
    const line = cells.join(delimiter);
    if (line === '') return EMPTY_ROW;
    if (!NEEDS_QUOTES.test(line) && delimitersIn(line, delimiter) === cells.length - 1) return Buffer.from(`${line}\n`);
    const quoted = cells.map((cell) => (NEEDS_QUOTES.test(cell) || cell.includes(delimiter) ? `"${cell.replaceAll('"', '""')}"` : cell));
    return Buffer.from(`${quoted.join(delimiter)}\n`);
  };
}

function delimitersIn(line: string, delimiter: string): number {
  let count = 0;
  for (let at = line.indexOf(delimiter); at !== -1; at = line.indexOf(delimiter, at + 1)) count++;
  return count;
}
