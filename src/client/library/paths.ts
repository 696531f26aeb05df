/** Paths and queries of calls. Pure. */

/** Queries of more characters go as a body, where a call takes one. */
export const LONGEST_QUERY = 4_000;

type Value = string | number | boolean | null | undefined;

/** Parameters of a query; a list is repeated, null and undefined are left out. */
export type QueryParams = Readonly<Record<string, Value | readonly Value[]>>;

/** `?name=value&...`, or an empty text. */
export function queryOf(params: QueryParams): string {
  const pairs = Object.entries(params).flatMap(([name, value]) =>
    (Array.isArray(value) ? (value as readonly Value[]) : [value as Value])
      .filter((one) => one !== undefined && one !== null)
      .map((one) => `${encodeURIComponent(name)}=${encodeURIComponent(String(one))}`),
  );
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

/** A path with encoded values: pathOf`/v1/batches/${id}`. */
export function pathOf(texts: TemplateStringsArray, ...values: readonly (string | number)[]): string {
  return texts.map((text, i) => text + (i < values.length ? encodeURIComponent(String(values[i])) : '')).join('');
}
