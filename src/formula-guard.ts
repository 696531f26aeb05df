/** Cells of tables that people open in a spreadsheet. Pure. */

/**
 * Characters that make a spreadsheet take a cell for a formula (OWASP, CSV Injection), the wide ones in some languages.
 * After apostrophes they count as well: so taking one apostrophe off gives every cell back as it was.
 */
const FORMULA_START = /^'*[=+\-@\t\r\n＝＋－＠]/;

/** A cell that a spreadsheet shows instead of running it. */
export function guardFormula(cell: string): string {
  return FORMULA_START.test(cell) ? `'${cell}` : cell;
}
