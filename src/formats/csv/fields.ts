/**
 * Splits framed records into fields. Records without a quote are split at delimiters, and others go to fast-csv. Records that fast-csv
 * refuses are split leniently, so that a stray quote loses no record.
 */
import { CsvParserStream, ParserOptions } from 'fast-csv';
import { splitLeniently } from './split-cells.ts';

/**
 * The first cell of every record for fast-csv. It guards leading spaces, byte order marks and delimiters, which fast-csv would drop or move
 * past. A row that comes back without its own mark was not read as one record.
 */
const mark = (index: number): string => index.toString(36);

const LINE_BREAK = /[\r\n]/;

/**
 * The fields of each record, in order. The texts have no line ends. `clean` records (quotes by RFC 4180) are parsed apart from the others,
 * so that these cannot spoil them.
 */
export async function readQuoted(texts: readonly string[], clean: readonly boolean[], delimiter: string): Promise<string[][]> {
  const fields: string[][] = Array.from({ length: texts.length });
  const groups: Record<'clean' | 'dirty', number[]> = { clean: [], dirty: [] };
  for (const [index, text] of texts.entries()) {
    if (clean[index] === true) groups.clean.push(index);
    // Line breaks are removed, so that each is one row: with stray quotes, a line break might be read as a row's end.
    else if (!LINE_BREAK.test(text)) groups.dirty.push(index);
    else fields[index] = splitLeniently(text, delimiter);
  }
  for (const indexes of [groups.clean, groups.dirty]) {
    const rows = await readTogether(
      indexes.map((index) => texts[index] ?? ''),
      delimiter,
    );
    for (const [at, index] of indexes.entries()) fields[index] = rows[at] ?? [];
  }
  return fields;
}

async function readTogether(texts: readonly string[], delimiter: string): Promise<string[][]> {
  if (texts.length === 0) return [];
  const rows = await askFastCsv(texts, delimiter);
  if (rows !== null) return rows;
  // One record cannot be read: halve until it is alone, so that its neighbours are not affected.
  if (texts.length === 1) return [splitLeniently(texts[0] ?? '', delimiter)];
  const half = texts.length >> 1;
  return [...(await readTogether(texts.slice(0, half), delimiter)), ...(await readTogether(texts.slice(half), delimiter))];
}

/** One row per text, or null when fast-csv fails or does not read each text as exactly one row. */
async function askFastCsv(texts: readonly string[], delimiter: string): Promise<string[][] | null> {
  const rows: string[][] = [];
  const parser = new CsvParserStream<string[], string[]>(new ParserOptions({ delimiter, headers: false, ignoreEmpty: false, trim: false }));
  const read = await new Promise<boolean>((resolve) => {
    parser.on('data', (row: string[]) => rows.push(row));
    parser.on('error', () => resolve(false));
    parser.on('end', () => resolve(true));
    let together = '';
    for (const [index, text] of texts.entries()) together += `${mark(index)}${delimiter}${text}\n`;
    parser.end(together);
  });
  if (!read || rows.length !== texts.length) return null;
  for (const [index, row] of rows.entries()) {
    if (row.shift() !== mark(index)) return null;
  }
  return rows;
}
