/** Which page of a list is asked for, where a list has no other parameters. */
import type { FastifyRequest } from 'fastify';
import { readLimit, type LimitParameter } from '../operations/paging.ts';
import { BAD_CURSOR, questionId, readCursor } from './cursor.ts';
import { Findings } from './findings.ts';

export interface PageQuery {
  readonly limit: number;
  /** Where the page before ended: a number by which the list is ordered; null: this is the first. */
  readonly before: number | null;
  /** Of which list cursors are. */
  readonly question: string;
}

/** @param list names the list, as nothing else does. @throws ServiceError naming each parameter that is wrong */
export function readPageQuery(request: FastifyRequest, limits: LimitParameter, list: unknown): PageQuery {
  const query = request.query as Readonly<Record<string, string | string[]>>;
  const findings = new Findings('query');
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
  // `finish` has thrown unless there is a good limit.
  return { limit: limit as number, before: typeof place === 'number' ? place : null, question };
}
