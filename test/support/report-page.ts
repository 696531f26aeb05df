/** Reads the report's page in tests. */

/** Its sections by title, as HTML. */
export function sectionsOf(page: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...page.matchAll(/<section>\n<h2>([^<]+)<\/h2>\n(.*?)\n<\/section>/gs)].map(([, title = '', content = '']) => [title, content]),
  );
}

/** The number of requests in the words above the chart, and in its table. */
export function requestsIn(page: string): { readonly said: number; readonly inTable: number } {
  const text = sectionsOf(page)['Requests against quota'] ?? '';
  const number = (digits = ''): number => Number(digits.replaceAll(',', ''));
  const rows = [...text.matchAll(/<tr><td>\d{4}-[^<]+<\/td><td[^>]*>([\d,]+)<\/td>/g)];
  return { said: number(/<p>([\d,]+) requests/.exec(text)?.[1]), inTable: rows.reduce((sum, [, calls]) => sum + number(calls), 0) };
}
