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
  }

  /** The bytes of one row, line end included. */
  row(cells: readonly string[]): Buffer {
    // fast-csv drops NUL characters; the input's own cells are to stay as they are.
    if (cells.some((cell) => cell.includes('\0'))) return this.#plain(cells);
    this.#bytes = null;
    this.#stream.write(cells as string[]);
    const bytes = this.#bytes as Buffer | null;
    if (bytes === null) throw new Error('fast-csv held a row back');
    return bytes;
  }

  #plain(cells: readonly string[]): Buffer {
    const quoted = cells.map((cell) => (/["\r\n]/.test(cell) || cell.includes(this.#delimiter) ? `"${cell.replaceAll('"', '""')}"` : cell));
    return Buffer.from(`${quoted.join(this.#delimiter)}\n`);
  }
}

/** Characters that make a spreadsheet take a cell for a formula (OWASP, CSV injection). */
const FORMULA_START = /^[=+\-@\t\r]/;

/** A cell that a spreadsheet shows instead of running it. */
export function guardFormula(cell: string): string {
  return FORMULA_START.test(cell) ? `'${cell}` : cell;
}
