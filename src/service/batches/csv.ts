/** CSV (RFC 4180) with commas, as the parts of a job are read and its results written. The pipeline's reader is not the service's to use. Pure. */

/** The cells of one record without its line end; or, in words, what is wrong with its quotes. */
export function readCells(text: string): string[] | { readonly wrong: string } {
  if (!text.includes('"')) return text.split(',');
  const cells: string[] = [];
  const wrong = (what: string): { readonly wrong: string } => ({ wrong: `cell ${cells.length + 1} ${what}` });
  let at = 0;
  for (;;) {
    if (text[at] !== '"') {
      const end = text.indexOf(',', at);
      const cell = text.slice(at, end === -1 ? undefined : end);
      if (cell.includes('"')) return wrong('has a quote and does not begin with one; put such a cell into quotes, and double those in it');
      cells.push(cell);
      if (end === -1) return cells;
      at = end + 1;
      continue;
    }
    const close = closingQuote(text, at);
    if (close === -1) return wrong('begins with a quote that is not closed');
    if (close + 1 < text.length && text[close + 1] !== ',') return wrong('goes on behind its closing quote; double the quotes that are in it');
    cells.push(text.slice(at + 1, close).replaceAll('""', '"'));
    if (close + 1 === text.length) return cells;
    at = close + 2;
  }
}

/** Where the quote closes that opens at `open`, or -1. */
function closingQuote(text: string, open: number): number {
  for (let at = text.indexOf('"', open + 1); at !== -1; at = text.indexOf('"', at + 2)) if (text[at + 1] !== '"') return at;
  return -1;
}

/** One record with its line end; a cell is quoted where it must be. */
export function writeCells(cells: readonly string[]): string {
  return `${cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')}\n`;
}
