/** Content negotiation by the Accept header (RFC 9110 12.5.1). Pure. */

/** A media type without parameters, in lower case. */
type MediaType = `${string}/${string}`;

/**
 * The first of `special` that a client weights at least as high as `usual`, or null for the usual type. The client must name it: a wildcard
 * gets the usual type. A client that accepts none of them gets the usual type too, as the standard allows.
 */
export function accepted<T extends MediaType>(header: string | undefined, special: readonly T[], usual: MediaType): T | null {
  const ranges = new Map(header?.split(',').map(readRange));
  const ofUsual = ranges.get(usual) ?? ranges.get(usual.replace(/[^/]*$/, '*')) ?? ranges.get('*/*') ?? 0;
  const weightOf = (type: T): number => ranges.get(type) ?? 0;
  const [best] = special.toSorted((one, other) => weightOf(other) - weightOf(one));
  return best !== undefined && weightOf(best) > 0 && weightOf(best) >= ofUsual ? best : null;
}

/** A range with its weight (RFC 9110 12.4.2), 1 where it has none that can be read. */
function readRange(text: string): [range: string, weight: number] {
  const [range = '', ...parameters] = text
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  const weight = parameters.map((parameter) => /^q=([01](?:\.\d{0,3})?)$/.exec(parameter)?.[1]).find((found) => found !== undefined);
  return [range, weight === undefined ? 1 : Math.min(1, Number(weight))];
}
