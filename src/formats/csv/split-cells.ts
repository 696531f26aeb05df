/** Splits one framed CSV record into cells, leniently for files and strictly for data of programs. Pure. */

/**
 * Splits leniently: a field with correct quotes is unquoted, and any other quote is ordinary text. `"Acme "The Best" Co",x` has the two
 * fields `"Acme "The Best" Co"` and `x`.
 */
export function splitLeniently(text: string, delimiter: string): string[] {
  const fields: string[] = [];
  let start = 0;
  for (;;) {
    const quoted = text[start] === '"' ? closingQuote(text, start) : -1;
    if (quoted !== -1 && (quoted === text.length || text[quoted] === delimiter)) {
      fields.push(text.slice(start + 1, quoted - 1).replaceAll('""', '"'));
      if (quoted === text.length) return fields;
      start = quoted + 1;
      continue;
    }
    // The text up to the first closing quote still belongs to the field, with its delimiters.
    const end = text.indexOf(delimiter, quoted === -1 ? start : quoted);
    if (end === -1) {
      fields.push(text.slice(start));
      return fields;
    }
    fields.push(text.slice(start, end));
    start = end + 1;
  }
}

/**
 * Splits by RFC 4180 with commas: quotes enclose a cell, and are doubled within it. Otherwise returns a message for the sender about the
 * wrong quote.
 */
export function splitStrictly(text: string): string[] | { readonly wrong: string } {
  if (!text.includes('"')) return text.split(',');
  const cells: string[] = [];
  const wrong = (what: string): { readonly wrong: string } => ({ wrong: `cell ${cells.length + 1} ${what}` });
  let start = 0;
  for (;;) {
    if (text[start] !== '"') {
      const end = text.indexOf(',', start);
      const cell = text.slice(start, end === -1 ? undefined : end);
      if (cell.includes('"')) return wrong('has a quote and does not begin with one; put such a cell into quotes, and double those in it');
      cells.push(cell);
      if (end === -1) return cells;
      start = end + 1;
      continue;
    }
    const end = closingQuote(text, start);
    if (end === -1) return wrong('begins with a quote that is not closed');
    if (end < text.length && text[end] !== ',') return wrong('goes on behind its closing quote; double the quotes that are in it');
    cells.push(text.slice(start + 1, end - 1).replaceAll('""', '"'));
    if (end === text.length) return cells;
    start = end + 1;
  }
}

/** The index after the quote that closes the one at `open`, or -1. */
function closingQuote(text: string, open: number): number {
  for (let at = text.indexOf('"', open + 1); at !== -1; at = text.indexOf('"', at + 2)) {
    if (text[at + 1] !== '"') return at + 1;
  }
  return -1;
}
