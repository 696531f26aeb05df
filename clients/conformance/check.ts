/** Compares what came with what a scenario expects. Pure. */

/** Named values of a run, such as how many people live in France: `$name` stands for one. */
export type Values = Readonly<Record<string, unknown>>;

/**
 * The differences, one line each. Expected objects are parts of the real ones. A text `/x/` is a regular expression, `$name` a named value.
 * An object with one of `LIST_WORDS` is about a list.
 */
export function differences(expected: unknown, actual: unknown, at: string, values: Values): string[] {
  const differs = (wanted: unknown): string[] => [`${at}: expected ${JSON.stringify(wanted)}, got ${shorten(actual)}`];
  if (typeof expected === 'string') {
    if (expected === '$absent') return actual === undefined || actual === null ? [] : differs(expected);
    if (expected.startsWith('$')) return differences(values[expected.slice(1)], actual, at, values);
    const pattern = /^\/(.*)\/([is]*)$/s.exec(expected);
    if (pattern !== null) return new RegExp(pattern[1] ?? '', pattern[2]).test(String(actual)) ? [] : differs(expected);
  }
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) return differs(expected);
    return expected.flatMap((one, i) => differences(one, actual[i], `${at}[${i}]`, values));
  }
  if (!isRecord(expected))
    return Object.is(expected, actual ?? null) || (typeof expected === 'number' && expected === actual) ? [] : differs(expected);
  if (LIST_WORDS.some((word) => word in expected)) return listDifferences(expected, actual, at, values);
  if (!isRecord(actual)) return differs(expected);
  return Object.entries(expected).flatMap(([name, wanted]) => differences(wanted, actual[name], `${at}.${name}`, values));
}

const LIST_WORDS = ['$length', '$count', '$at_least', '$distinct', '$order', 'each'] as const;

function listDifferences(expected: Readonly<Record<string, unknown>>, actual: unknown, at: string, values: Values): string[] {
  if (!Array.isArray(actual)) return [`${at}: expected a list, got ${shorten(actual)}`];
  const found: string[] = [];
  const numberOf = (word: string): number => Number(typeof expected[word] === 'string' ? values[expected[word]] : expected[word]);
  if ('$length' in expected && actual.length !== numberOf('$length'))
    found.push(`${at}: expected ${numberOf('$length')} items, got ${actual.length}`);
  if ('$count' in expected && actual.length !== numberOf('$count'))
    found.push(`${at}: expected ${numberOf('$count')} items, got ${actual.length}`);
  if ('$at_least' in expected && actual.length < numberOf('$at_least'))
    found.push(`${at}: expected ${numberOf('$at_least')} items or more, got ${actual.length}`);
  const field = expected['$distinct'];
  if (typeof field === 'string') {
    const all = actual.map((item) => (isRecord(item) ? item[field] : undefined));
    if (all.includes(undefined) || new Set(all).size !== all.length) found.push(`${at}: expected distinct ${field}s, got ${shorten(all)}`);
  }
  const order = expected['$order'];
  if (typeof order === 'string') {
    const ids = actual.map((item) => (isRecord(item) ? item['id'] : undefined));
    const wanted = (values[order] as readonly unknown[]).slice(0, ids.length);
    if (ids.join() !== wanted.join()) found.push(`${at}: expected ${shorten(wanted)}, got ${shorten(ids)}`);
  }
  if ('each' in expected) found.push(...actual.flatMap((item, i) => differences(expected['each'], item, `${at}[${i}]`, values)));
  return found;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function shorten(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length <= 300 ? text : `${text.slice(0, 300)}…`;
}
