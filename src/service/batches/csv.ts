/** CSV (RFC 4180) with commas, as the parts of a job are read and its results written. The pipeline's reader is not the service's to use. Pure. */

/** The cells of one record without its line end; null when its quotes are not in order. */
export function readCells(text: string): string[] | null {
  if (!text.includes('"')) return text.split(',');
  const cells: string[] = [];
  let at = 0;
  for (;;) {
    if (text[at] !== '"') {
      const end = text.indexOf(',', at);
      const cell = text.slice(at, end === -1 ? undefined : end);
      if (cell.includes('"')) return null;
      cells.push(cell);
      if (end === -1) return cells;
      at = end + 1;
      continue;
    }
    const close = closingQuote(text, at);
    if (close === -1) return null;
    cells.push(text.slice(at + 1, close).replaceAll('""', '"'));
    if (close + 1 === text.length) return cells;
    if (text[close + 1] !== ',') return null;
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
