/** Protects table cells from being run as formulas by a spreadsheet. Pure. */

/**
 * Characters that begin a formula (OWASP, CSV Injection); the full-width ones do so in some languages.
 * Leading apostrophes are skipped, so that removing one apostrophe restores every cell exactly.
 */
const FORMULA_START = /^'*[=+\-@\t\r\n＝＋－＠]/;

/** Returns a cell that a spreadsheet shows and does not run. */
export function guardFormula(cell: string): string {
  return FORMULA_START.test(cell) ? `'${cell}` : cell;
}
