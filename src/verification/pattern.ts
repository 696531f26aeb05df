/** The pattern of a domain's addresses, such as `{first}.{last}`: learns it, and tests whether a local part fits it. Pure. */

/** The separators in a pattern such as `{first}.{last}`. */
const PATTERN = /^\{(?:(first|last)|[fl])\}([._-])\{(?:(first|last)|[fl])\}$/;
const LETTER = /^\p{L}$/u;
const NAME = /^\p{L}[\p{L}'’]*$/u;

/**
 * True when `local` (normalised) fits `pattern`. Only patterns with a separator can be told from any other word, so a pattern without one
 * (`{f}{last}`) or one that is not known here never fits.
 */
export function fitsPattern(local: string, pattern: string | null): boolean {
  if (pattern === null) return false;
  const shape = PATTERN.exec(pattern);
  if (shape === null) return false;
  const parts = local.split(shape[2] as string);
  const [first, last] = parts;
  if (parts.length !== 2 || first === undefined || last === undefined) return false;
  return (shape[1] === undefined ? LETTER : NAME).test(first) && (shape[3] === undefined ? LETTER : NAME).test(last);
}

/** A person whose address and names are known. */
export interface NamedAddress {
  /** Normalised. */
  readonly local: string;
  readonly first: string;
  readonly last: string;
}

/** Fewer people than this could be a coincidence. */
const LEAST_PEOPLE = 3;
/** The least share of people with known names whose addresses fit. Some addresses always come from a merger. */
const LEAST_SHARE = 2 / 3;
const SEPARATORS = ['.', '_', '-', ''] as const;
const NAMES = [['first', 'last'], ['f', 'last'], ['first', 'l'], ['last', 'first'], ['last', 'f'], ['first'], ['last']] as const;
const SHAPES = NAMES.flatMap((names) =>
  (names.length === 1 ? [''] : SEPARATORS).map((separator) => ({
    names,
    separator,
    pattern: names.map((name) => `{${name}}`).join(separator),
  })),
);

/** The pattern of the known addresses of a domain, such as `{first}.{last}`; null when too few of them agree. */
export function learnPattern(people: Iterable<NamedAddress>): string | null {
  const counts = new Map<string, number>();
  let known = 0;
  for (const { local, first, last } of people) {
    const [given, family] = [plain(first), plain(last)];
    if (given === '' || family === '') continue;
    known++;
    const written = { first: given, f: given.slice(0, 1), last: family, l: family.slice(0, 1) };
    const address = local.normalize('NFD').replaceAll(/\p{M}/gu, '');
    for (const { names, separator, pattern } of SHAPES)
      if (names.map((name) => written[name]).join(separator) === address) counts.set(pattern, (counts.get(pattern) ?? 0) + 1);
  }
  const [best] = [...counts].sort(([, one], [, other]) => other - one);
  return best !== undefined && best[1] >= LEAST_PEOPLE && best[1] >= known * LEAST_SHARE ? best[0] : null;
}

/** A name in the form that addresses use: lower-case letters without accents. */
function plain(name: string): string {
  return name
    .normalize('NFD')
    .toLowerCase()
    .replaceAll(/[^\p{L}]/gu, '');
}
