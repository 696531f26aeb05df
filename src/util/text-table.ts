/** Tables of text for a terminal. Pure. */
import { printable } from './display.ts';

/** The most columns of a cell, and the fewest to which it is cut. */
const CELL_WIDTH = 26;
const LEAST_WIDTH = 8;
const GAP = 2;

/** Lines of a table that fits `room` columns: its widest columns are cut first, and then the last ones left out. */
export function tableLines(rows: readonly (readonly string[])[], room: number): string[] {
  const cells = rows.map((row) => row.map((cell) => printable(cell.replaceAll(/\s+/g, ' '))));
  const widths = (cells[0] ?? []).map((_, i) => Math.min(CELL_WIDTH, Math.max(...cells.map((row) => width(row[i] ?? '')))));
  const total = (): number => widths.reduce((sum, one) => sum + one + GAP, -GAP);
  while (total() > room && Math.max(...widths) > LEAST_WIDTH) widths[widths.indexOf(Math.max(...widths))]! -= 1;
  while (total() > room && widths.length > 1) widths.pop();
  return cells.map((row) =>
    widths
      .map((most, i) => {
        const shown = cut(row[i] ?? '', most);
        return shown + ' '.repeat(most - width(shown));
      })
      .join(' '.repeat(GAP))
      .trimEnd(),
  );
}

/** The text in at most this many columns, with an ellipsis where it is cut. */
export function cut(text: string, most: number): string {
  if (width(text) <= most) return text;
  let used = 0;
  let kept = '';
  for (const character of text) {
    used += width(character);
    if (used > most - 1) return `${kept}…`;
    kept += character;
  }
  return kept;
}

/** Columns on a terminal: East Asian characters take two (Unicode Standard Annex 11, roughly). */
function width(text: string): number {
  let columns = 0;
  for (const character of text)
    columns += /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/.test(character) ? 2 : 1;
  return columns;
}
