/** The options of a ledger and its entries. Types only. */
import type { LedgerAnswer } from './answer.ts';

export interface LedgerEntry {
  /** From `Ledger.scope`. */
  readonly scope: number;
  readonly key: string;
  readonly answer: LedgerAnswer;
  /** The key has an earlier answer of this run that was not final: no new lookup. */
  readonly again?: boolean;
}

export interface LedgerOptions {
  readonly path: string;
  readonly job: string;
  /** Identifies the run over all its resumes; a new one for each `--fresh`. */
  readonly run: string;
  /** Answers of other jobs up to this age may be used; 0 for only this job's own, of any age. */
  readonly maxAgeDays: number;
  readonly now: () => number;
  /**
   * For a retry: this run's failures up to that answer are asked again (`lastAnswer`, or milliseconds since 1970 with `failedBy: 'time'`);
   * 0 for none.
   */
  readonly failedUpTo?: number;
  /** The unit of `failedUpTo`: numbers of answers mean nothing outside one file. */
  readonly failedBy?: 'number' | 'time';
  /** Only `look`, `lastAnswer`, `totals` and `scope` are called: nothing is written. The file must exist. */
  readonly readOnly?: boolean;
  /** True when other processes (shards) write to the file for the same run. */
  readonly shared?: boolean;
  /**
   * Answers that other runs get from then on count for this one too, `unknown` and refusals included: milliseconds since 1970. Absent: only
   * answers that later runs may use.
   */
  readonly sharedSince?: number;
  /** When answers of other processes are read: in each `get`, or only in `readOthers`. */
  readonly readsOthers?: 'on get' | 'on request';
  /**
   * Called in each write transaction: throws when another run owns the job by now. A run that takes over later waits for the transaction.
   */
  readonly mayWrite?: () => void;
  /** Answers of an index batch; tests use fewer. */
  readonly indexBatch?: number;
}

/** The listener for warnings and progress. */
export interface Teller {
  info(event: string, text: string): void;
  warn(event: string, text: string): void;
}

export const silentTeller: Teller = { info: () => undefined, warn: () => undefined };

/** An answer in the form that ledgers exchange: names instead of the row numbers of one file. */
export interface SharedAnswer {
  /** Origin, step, options. */
  readonly scope: readonly [origin: string, step: string, options: string];
  readonly key: string;
  readonly job: string;
  readonly run: string;
  /** When it was stored, milliseconds since 1970. */
  readonly at: number;
  readonly answer: LedgerAnswer;
}

/** A new row. `counts`: an answer of another run that this one uses from now on. */
export interface NewAnswerRow {
  readonly scope: number;
  readonly key: string;
  readonly hash: number;
  readonly run: number;
  readonly at: number;
  readonly answer: LedgerAnswer;
  readonly counts: boolean;
}
