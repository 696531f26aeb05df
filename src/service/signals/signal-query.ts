/** Reads the query of GET /v1/signals. */
import { DAY_MS } from '../records/parse-date.ts';
import { BadValue, dateOf } from '../records/filter-value.ts';
import { readLimit } from '../http/paging.ts';
import { MAX_SIGNAL_VALUES, SIGNAL_LIMIT } from './signals-operation.ts';
import { SIGNAL_FILTERS } from './signal-filter.ts';
import { SIGNAL_NAMES, signalType, type SignalType } from '../records/signal-types.ts';
import type { SignalFilter, SignalPosition } from '../store/rows/signal-feed.ts';
import { BAD_CURSOR, questionId, readCursor } from '../http/cursor.ts';
import { RequestFindings } from '../http/findings.ts';

export interface SignalQuery {
  readonly filter: SignalFilter;
  readonly after: SignalPosition | null;
  /** Null when not given. */
  readonly limit: number | null;
  readonly question: string;
}

/** Parameters as a query has them: one that is given more than once is a list. */
export type QueryValues = Readonly<Record<string, string | readonly string[]>>;

/** @throws ServiceError naming each parameter that is wrong */
export function readSignalQuery(query: QueryValues): SignalQuery {
  const findings = new RequestFindings('query');
  const list = (name: string): string[] => {
    const values = [query[name] ?? []]
      .flat()
      .flatMap((value) => value.split(','))
      .map((value) => value.trim());
    if (values.includes('')) findings.add(name, 'empty', `${name} has an empty value`);
    if (values.length <= MAX_SIGNAL_VALUES) return values.filter((value) => value !== '');
    findings.add(name, 'too_many', `${name} has ${values.length} values; at most ${MAX_SIGNAL_VALUES} are allowed`);
    // A body, unlike the query of a URL, has room for hundreds of thousands.
    return [];
  };
  const one = (name: string): string | null => {
    const given = [query[name] ?? []].flat();
    if (given.length > 1) findings.add(name, 'repeated', `${name} is given more than once`);
    return given[0] ?? null;
  };
  const checked = <T>(name: string, read: (value: string) => T | null, wanted: string): T[] =>
    list(name).flatMap((value) => {
      const found = read(value);
      if (found === null) findings.add(name, 'format', `${name} ${wanted}`);
      return found ?? [];
    });
  const known = (name: keyof typeof SIGNAL_FILTERS): string[] => checked(name, SIGNAL_FILTERS[name].read, SIGNAL_FILTERS[name].wanted);
  const day = (name: string): number | null => {
    const value = one(name);
    try {
      return value === null ? null : dateOf(value) * DAY_MS;
    } catch (error) {
      if (!(error instanceof BadValue)) throw error;
      findings.add(name, error.code, `${name} ${error.message}`);
      return null;
    }
  };
  const [since, until] = [day('since'), day('until')];
  if (since !== null && until !== null && until < since) findings.add('until', 'range', 'until is before since');
  const filter: SignalFilter = {
    types: checked<SignalType>('type', (value) => signalType(value.toLowerCase()), `must be one of ${SIGNAL_NAMES.join(', ')}`),
    since,
    // The day is meant with all of its hours.
    before: until === null ? null : until + DAY_MS,
    domains: known('domain'),
    countries: known('country'),
    industries: known('industry'),
  };
  const wanted = one('limit');
  const limit = wanted === null ? null : readLimit(SIGNAL_LIMIT, wanted);
  if (wanted !== null && limit === null)
    findings.add('limit', 'range', `limit must be a whole number from 1 to ${SIGNAL_LIMIT.schema.maximum}`);
  const question = questionId(filter);
  const cursor = one('cursor');
  const after = cursor === null ? null : placeOf(cursor, question);
  if (cursor !== null && after === null) findings.add('cursor', 'invalid_cursor', BAD_CURSOR);
  findings.finish();
  return { filter, after, limit, question };
}

function placeOf(cursor: string, question: string): SignalPosition | null {
  const [occurredMs, seq, ...more] = readCursor(cursor, question) ?? [];
  return typeof occurredMs === 'number' && typeof seq === 'number' && more.length === 0 ? { occurredMs, seq } : null;
}
