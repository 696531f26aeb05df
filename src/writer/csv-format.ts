import { format } from 'fast-csv';

/**
 * Rows -> CSV bytes, by fast-csv: LF line ends, quotes where needed, UTF-8 without BOM.
 * Its stream formats each row within `write()` while somebody listens, so rows can be taken one by one and in step.
 */
export class CsvFormat {
  readonly #stream;
  readonly #delimiter: string;
  #bytes: Buffer | null = null;

  constructor(delimiter: string) {
    this.#delimiter = delimiter;
    this.#stream = format<string[], string[]>({ headers: false, delimiter, rowDelimiter: '\n', includeEndRowDelimiter: true });
    this.#stream.on('data', (bytes: Buffer) => {
      this.#bytes = bytes;
    });
    // fast-csv puts a line end before every row but its first, so that one is nobody's.
    this.#stream.write(['']);
  }

  /** The bytes of one row, line end included. */
  row(cells: readonly string[]): Buffer {
    // Most rows need no quotes, and are their cells joined: seven times as fast as a turn through the stream.
    const line = cells.join(this.#delimiter);
    if (line === '') return EMPTY_ROW;
    if (!MAY_NEED_QUOTES.test(line) && this.#delimitersIn(line) === cells.length - 1) return Buffer.from(`${line}\n`);
    // fast-csv drops NUL characters; the input's own cells are to stay as they are.
    if (line.includes('\0')) return this.#plain(cells);
    this.#bytes = null;
    this.#stream.write(cells);
    const bytes = this.#bytes as Buffer | null;
    if (bytes === null || bytes[0] !== LF) throw new Error('fast-csv held a row back');
    // Its line end moves from before the row to after it.
    bytes.copyWithin(0, 1);
    bytes[bytes.length - 1] = LF;
    return bytes;
  }

  #delimitersIn(line: string): number {
    let count = 0;
    for (let at = line.indexOf(this.#delimiter); at !== -1; at = line.indexOf(this.#delimiter, at + 1)) count++;
    return count;
  }

  #plain(cells: readonly string[]): Buffer {
    const quoted = cells.map((cell) => (/["\r\n]/.test(cell) || cell.includes(this.#delimiter) ? `"${cell.replaceAll('"', '""')}"` : cell));
    return Buffer.from(`${quoted.join(this.#delimiter)}\n`);
  }
}

/** What a cell must be quoted for, the delimiter apart, and NUL. */
const MAY_NEED_QUOTES = /["\r\n\0]/;

const LF = 0x0a;

/** One empty cell: a bare line end would read back as no row at all. */
const EMPTY_ROW = Buffer.from('""\n');

/** Characters that make a spreadsheet take a cell for a formula (OWASP, CSV injection). */
const FORMULA_START = /^[=+\-@\t\r]/;

/** A cell that a spreadsheet shows instead of running it. */
export function guardFormula(cell: string): string {
  return FORMULA_START.test(cell) ? `'${cell}` : cell;
}
