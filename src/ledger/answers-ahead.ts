/** Answers that are dated after now, because the clock of their run was ahead. */
import type { DatabaseSync } from 'node:sqlite';
import { CLOCK_ERROR_MS } from './reuse.ts';
import { NO_SCOPE } from './schema.ts';

/** The last answers of a ledger, where they are dated after now. */
export interface AnswersAhead {
  /** Their numbers: after the first, up to the second. */
  readonly after: number;
  readonly upTo: number;
  /** The date of the newest, milliseconds since 1970. */
  readonly newestMs: number;
}

/** Reads the last answer, and those before it as long as they are dated after that moment. Null without any. */
export function answersAhead(db: DatabaseSync, nowMs: number): AnswersAhead | null {
  const latest = nowMs + CLOCK_ERROR_MS;
  const newest = db.prepare('SELECT id, at FROM answers WHERE scope <> ? ORDER BY id DESC LIMIT 1').get(NO_SCOPE);
  if (newest === undefined || Number(newest['at']) <= latest) return null;
  const before = db.prepare('SELECT id FROM answers WHERE scope <> ? AND at <= ? ORDER BY id DESC LIMIT 1').get(NO_SCOPE, latest);
  return { after: Number(before?.['id'] ?? 0), upTo: Number(newest['id']), newestMs: Number(newest['at']) };
}

/** Dates these answers at that moment, within a write transaction. Returns their number. */
export function dateAt(db: DatabaseSync, { after, upTo }: AnswersAhead, nowMs: number): number {
  return Number(db.prepare('UPDATE answers SET at = ?1 WHERE id > ?2 AND id <= ?3 AND at > ?1').run(nowMs, after, upTo).changes);
}
