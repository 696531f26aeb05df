/** Whether a local part has the shape that a domain gives its people's addresses. Pure. */

/** What may stand between the names of a pattern such as `{first}.{last}`. */
const PATTERN = /^\{(first|f)\}([._-])\{(last|l)\}$/;
const LETTER = /^\p{L}$/u;
const NAME = /^\p{L}[\p{L}'’]*$/u;

/**
 * True when `local` (normalised) fits `pattern`. Only patterns with a separator can be told from any other word,
 * so a pattern without one (`{f}{last}`) or one that is not known here never fits.
 */
export function fitsPattern(local: string, pattern: string | null): boolean {
  if (pattern === null) return false;
  const shape = PATTERN.exec(pattern);
  if (shape === null) return false;
  const parts = local.split(shape[2] as string);
  const [first, last] = parts;
  if (parts.length !== 2 || first === undefined || last === undefined) return false;
  return (shape[1] === 'f' ? LETTER : NAME).test(first) && (shape[3] === 'l' ? LETTER : NAME).test(last);
}
