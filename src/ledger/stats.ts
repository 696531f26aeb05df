import type { DatabaseSync } from 'node:sqlite';
import { kindName, type AnswerKind } from './answer.ts';
import { answersInPieces, ledgerBytes, withLedger } from './connection.ts';
import { MS_PER_DAY, isReusable } from './reuse.ts';
import { NO_SCOPE } from './schema.ts';

/** A lookup that is being asked for is no answer. */
type CountedKind = Exclude<AnswerKind, 'asking'>;

/** The answers of one scope, counted by kind. Times are milliseconds since 1970. */
export interface ScopeStats {
  /** The service's, or `embedded`. */
  readonly origin: string;
  readonly step: string;
  /** The options that change an answer, such as `by email`. */
  readonly options: string;
  readonly answers: number;
  readonly kinds: Readonly<Record<CountedKind, number>>;
  /** Answers that a later run may use. */
  readonly reusable: number;
  readonly oldest: number;
  readonly newest: number;
}

export interface LedgerStats {
  readonly bytes: number;
  /** The jobs that have used the ledger, and their runs. */
  readonly jobs: number;
  readonly runs: number;
  /** Scopes that have answers. */
  readonly scopes: readonly ScopeStats[];
}

/** @param maxAgeDays 0 for any age, as within one job */
export function ledgerStats(path: string, options: { maxAgeDays: number; now: number }): Promise<LedgerStats> {
  return withLedger(path, (db) => {
    const youngest = youngestOf(options);
    const found = countAnswers(db, new AnswerCounts<number>(youngest));
    const { jobs, runs } = db.prepare('SELECT count(DISTINCT job) AS jobs, count(*) AS runs FROM runs').get() as {
      jobs: number;
      runs: number;
    };
    const scopes = db.prepare('SELECT id, origin, step, options FROM scopes ORDER BY origin, step, options').all();
    return {
      bytes: ledgerBytes(path),
      jobs,
      runs,
      scopes: scopes.flatMap(({ id, origin, step, options: more }) => {
        const counted = found.get(Number(id));
        return counted === undefined ? [] : [{ origin: String(origin), step: String(step), options: String(more), ...counted }];
      }),
    };
  });
}

/** The time from which an answer may be used. */
export function youngestOf({ maxAgeDays, now }: { maxAgeDays: number; now: number }): number {
  return maxAgeDays > 0 ? now - maxAgeDays * MS_PER_DAY : -Infinity;
}

interface Counted {
  answers: number;
  readonly kinds: Record<CountedKind, number>;
  reusable: number;
  oldest: number;
  newest: number;
}

function nothing(): Counted {
  return {
    answers: 0,
    kinds: { hit: 0, miss: 0, suppressed: 0, unsettled: 0, failed: 0 },
    reusable: 0,
    oldest: Infinity,
    newest: -Infinity,
  };
}

/** Answers added up by scope. */
export class AnswerCounts<Scope> {
  readonly found = new Map<Scope, Counted>();
  readonly #youngest: number;

  constructor(youngest: number) {
    this.#youngest = youngest;
  }

  add(scope: Scope, kind: AnswerKind, at: number): void {
    if (kind === 'asking') return;
    let counted = this.found.get(scope);
    if (counted === undefined) this.found.set(scope, (counted = nothing()));
    counted.answers++;
    counted.kinds[kind]++;
    if (isReusable(kind) && at >= this.#youngest) counted.reusable++;
    counted.oldest = Math.min(counted.oldest, at);
    counted.newest = Math.max(counted.newest, at);
  }
}

function countAnswers(db: DatabaseSync, counts: AnswerCounts<number>): ReadonlyMap<number, Counted> {
  for (const rows of answersInPieces<[id: number, scope: number, kind: number, at: number]>(db, 'scope, kind, at')) {
    for (const [, scope, kind, at] of rows) if (scope !== NO_SCOPE) counts.add(scope, kindName(kind), at);
  }
  return counts.found;
}
