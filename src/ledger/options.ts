/** What a ledger is opened with, and what is put into it. */
import type { LedgerAnswer } from './answer.ts';

export interface LedgerEntry {
  /** From `Ledger.scope`. */
  readonly scope: number;
  readonly key: string;
  readonly answer: LedgerAnswer;
  /** It was kept before in this run, with an answer that was not final: no lookup more. */
  readonly again?: boolean;
}

export interface LedgerOptions {
  readonly path: string;
  readonly job: string;
  /** Identifies the run over all its resumes; a new one for each `--fresh`. */
  readonly run: string;
  /** Answers of other jobs up to this age are good too; 0: only this job's own, of any age. */
  readonly maxAgeDays: number;
  readonly now: () => number;
  /** `retry`: this run's failures up to that answer are asked again (`lastAnswer`, or `failedBy: 'time'`: their time in milliseconds since 1970); 0: none. */
  readonly failedUpTo?: number;
  /** What `failedUpTo` counts: numbers mean nothing outside of one file. */
  readonly failedBy?: 'number' | 'time';
  /** Only `look`, `lastAnswer`, `totals` and `scope` are wanted: nothing is written. The file must exist. */
  readonly peek?: boolean;
  /** Other processes write to it for the same run: its shards. */
  readonly shared?: boolean;
  /**
   * Answers that other runs got from then on count for this one as if it had asked, `unknown` and refusals too: milliseconds since 1970.
   * Left out: only what later runs may use.
   */
  readonly sharedSince?: number;
  /** `get` does not look for what other processes have written; `readOthers` does. */
  readonly readsOthers?: 'by get' | 'when told';
  /** Asked within each write transaction: throws when the job is another run's by now. One that comes later waits for the transaction. */
  readonly mayWrite?: () => void;
  /** Answers that go into the index together; fewer than usual for tests. */
  readonly placeAt?: number;
}

/** Who watches the run. */
export interface Teller {
  info(event: string, text: string): void;
  warn(event: string, text: string): void;
}

export const tellNobody: Teller = { info: () => undefined, warn: () => undefined };

/** An answer as it travels between ledgers: whose it is, and what would be a number in a file written out. */
export interface SharedAnswer {
  /** Origin, step, options. */
  readonly scope: readonly [origin: string, step: string, options: string];
  readonly key: string;
  readonly job: string;
  readonly run: string;
  /** When it was kept, milliseconds since 1970. */
  readonly at: number;
  readonly answer: LedgerAnswer;
}

/** What becomes a row. `counts`: an answer of another run that this one uses from now on. */
export interface NewRow {
  readonly scope: number;
  readonly key: string;
  readonly hash: number;
  readonly run: number;
  readonly at: number;
  readonly answer: LedgerAnswer;
  readonly counts: boolean;
}
