/** Opaque cursors: the position where a page ended, and a digest of the query. Pure. */
import { hash } from 'node:crypto';
import { pathOf } from './request-path.ts';

/** A digest of a query: a cursor is valid for one query only. */
export function questionId(question: unknown): string {
  return hash('sha256', JSON.stringify(question), 'base64url').slice(0, 12);
}

export function writeCursor(question: string, place: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify([question, ...place])).toString('base64url');
}

/** The position, or null when the cursor is not of this query. */
export function readCursor(cursor: string, question: string): readonly unknown[] | null {
  try {
    const read = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')) as unknown;
    return Array.isArray(read) && read[0] === question ? (read.slice(1) as unknown[]) : null;
  } catch {
    return null;
  }
}

/** The detail of a refused cursor. */
export const BAD_CURSOR = 'cursor is none of this search: pass next_cursor as it was, with the same filters and order';

/** The path and query of the next page. */
export function nextUrl(url: string, cursor: string): string {
  const path = pathOf(url);
  // A query may contain further question marks, as in the address of a profile.
  const parameters = new URLSearchParams(url.slice(path.length + 1));
  parameters.set('cursor', cursor);
  return `${path}?${parameters.toString()}`;
}
