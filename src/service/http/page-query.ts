/** Reads the paging parameters of a list that has no others. */
import type { FastifyRequest } from 'fastify';
import { readLimit, type LimitParameter } from './paging.ts';
import { BAD_CURSOR, questionId, readCursor } from './cursor.ts';
import { RequestFindings } from './findings.ts';

interface ListPageQuery {
  readonly limit: number;
  /** The sort number of the last row of the page before, or null for the first page. */
  readonly before: number | null;
  /** The digest of the list, for its cursors. */
  readonly question: string;
}

/** @param list a value that is unique for the list @throws ServiceError naming each parameter that is wrong */
export function readPageQuery(request: FastifyRequest, limits: LimitParameter, list: unknown): ListPageQuery {
  const query = request.query as Readonly<Record<string, string | string[]>>;
  const findings = new RequestFindings('query');
  const one = (name: string): string | null => {
    const given = [query[name] ?? []].flat();
    if (given.length > 1) findings.add(name, 'repeated', `${name} is given more than once`);
    return given[0] ?? null;
  };
  const [wanted, cursor, question] = [one('limit'), one('cursor'), questionId(list)];
  const limit = wanted === null ? limits.schema.default : readLimit(limits, wanted);
  if (limit === null) findings.add('limit', 'range', `limit must be a whole number from 1 to ${limits.schema.maximum}`);
  const [place] = cursor === null ? [] : (readCursor(cursor, question) ?? []);
  if (cursor !== null && typeof place !== 'number') findings.add('cursor', 'invalid_cursor', BAD_CURSOR);
  findings.finish();
  // `finish` has thrown unless the limit is good.
  return { limit: limit as number, before: typeof place === 'number' ? place : null, question };
}
