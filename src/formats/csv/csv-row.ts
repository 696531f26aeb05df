/** Formats rows as CSV (RFC 4180): quotes only where needed, UTF-8. Pure. */

/** Characters that require quotes, besides the delimiter. */
const NEEDS_QUOTES = /["\r\n]/;

/** A row with one empty cell. A bare line end would not be read back as a row. */
const EMPTY_ROW = '""';

/** Formats one row as bytes, line end included. */
export function csvRow(delimiter: string, lineEnd = '\n'): (cells: readonly string[]) => Buffer {
  const text = csvText(delimiter, lineEnd);
  return (cells) => Buffer.from(text(cells));
}

/** Formats one row as text, line end included. */
export function csvText(delimiter: string, lineEnd = '\n'): (cells: readonly string[]) => string {
  return (cells) => {
    // Fast path: most rows need no quotes, so their cells are simply joined.
    const line = cells.join(delimiter);
    if (line === '') return EMPTY_ROW + lineEnd;
    if (!NEEDS_QUOTES.test(line) && delimitersIn(line, delimiter) === cells.length - 1) return line + lineEnd;
    const quoted = cells.map((cell) => (NEEDS_QUOTES.test(cell) || cell.includes(delimiter) ? `"${cell.replaceAll('"', '""')}"` : cell));
    return quoted.join(delimiter) + lineEnd;
  };
}

function delimitersIn(line: string, delimiter: string): number {
  let count = 0;
  for (let at = line.indexOf(delimiter); at !== -1; at = line.indexOf(delimiter, at + 1)) count++;
  return count;
}
