/**
 * From a framed record to its fields. Records without a quote are split plainly; the others go to fast-csv,
 * and what it refuses is read leniently here, so that no record is lost over a stray quote.
 */
import { CsvParserStream, ParserOptions } from 'fast-csv';

/**
 * Put before every record that fast-csv reads. With it no record begins with spaces, a BOM or a delimiter, which fast-csv
 * would drop or move past; and a row that comes back without its own mark was not read as one record.
 */
const mark = (index: number): string => index.toString(36);

const LINE_BREAK = /[\r\n]/;

/**
 * The fields of each record, in order. The texts carry no line end of their own.
 * `clean` records (quotes as RFC 4180 wants them) and the others are asked for apart, so that these cannot spoil those.
 */
export async function readQuoted(texts: readonly string[], clean: readonly boolean[], delimiter: string): Promise<string[][]> {
  const fields: string[][] = Array.from({ length: texts.length });
  const groups: Record<'clean' | 'dirty', number[]> = { clean: [], dirty: [] };
  for (const [index, text] of texts.entries()) {
    if (clean[index] === true) groups.clean.push(index);
    // Of one line, so that none can pass for two: with stray quotes about, a line break might be read as a row's end.
    else if (!LINE_BREAK.test(text)) groups.dirty.push(index);
    else fields[index] = splitLeniently(text, delimiter);
  }
  for (const indexes of [groups.clean, groups.dirty]) {
    const rows = await readTogether(indexes.map((index) => texts[index] ?? ''), delimiter);
    for (const [at, index] of indexes.entries()) fields[index] = rows[at] ?? [];
  }
  return fields;
}

async function readTogether(texts: readonly string[], delimiter: string): Promise<string[][]> {
  if (texts.length === 0) return [];
  const rows = await askFastCsv(texts, delimiter);
  if (rows !== null) return rows;
  // Someone among them cannot be read: halve until it stands alone, so one bad record costs its neighbours little.
  if (texts.length === 1) return [splitLeniently(texts[0] ?? '', delimiter)];
  const half = texts.length >> 1;
  return [...(await readTogether(texts.slice(0, half), delimiter)), ...(await readTogether(texts.slice(half), delimiter))];
}

/** One row a text, or null when fast-csv refused or did not read each text as exactly one row. */
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

/**
 * Quoted fields are unquoted where their quotes are in order; any other quote is text like the rest.
 * `"Acme "The Best" Co",x` is the two fields `"Acme "The Best" Co"` and `x`.
 */
export function splitLeniently(text: string, delimiter: string): string[] {
  const fields: string[] = [];
  let start = 0;
  for (;;) {
    const quoted = text[start] === '"' ? closeQuote(text, start) : -1;
    if (quoted !== -1 && (quoted === text.length || text[quoted] === delimiter)) {
      fields.push(text.slice(start + 1, quoted - 1).replaceAll('""', '"'));
      if (quoted === text.length) return fields;
      start = quoted + 1;
      continue;
    }
    // What is between quotes up to the first that closes still belongs to the field, its delimiters included.
    const end = text.indexOf(delimiter, quoted === -1 ? start : quoted);
    if (end === -1) {
      fields.push(text.slice(start));
      return fields;
    }
    fields.push(text.slice(start, end));
    start = end + 1;
  }
}

/** The place after the quote that closes the one at `open`, or -1. */
function closeQuote(text: string, open: number): number {
  for (let at = text.indexOf('"', open + 1); at !== -1; at = text.indexOf('"', at + 2)) {
    if (text[at + 1] !== '"') return at + 1;
  }
  return -1;
}
