import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { decode, type LedgerAnswer } from './answer.ts';
import { keyHash } from './key-hash.ts';
import type { LedgerOptions } from './options.ts';
import type { Places } from './places.ts';
import { countsForBoth, maySpare } from './reuse.ts';
import type { UsedAnswers } from './used-answers.ts';

/** A row of `answers`, and the job it was asked for. */
type Row = readonly [run: number, at: number, kind: number, body: string, job: string, scope: number, key: string];

/** `counted`: it is one of this run's lookups already. */
export interface FoundAnswer { readonly id: number; readonly answer: LedgerAnswer; readonly counted: boolean }

/** The answers of a ledger's file by key, and which of them a run may use. */
export class AnswerRows {
  readonly #read: StatementSync;
  readonly #places: Places;
  readonly #used: UsedAnswers;
  readonly #options: LedgerOptions;
  readonly #runId: number;
  readonly #failedUpTo: number;

  constructor(db: DatabaseSync, places: Places, used: UsedAnswers, options: LedgerOptions, runId: number) {
    this.#read = db.prepare('SELECT a.run, a.at, a.kind, a.body, r.job, a.scope, a.key FROM answers a JOIN runs r ON r.id = a.run WHERE a.id = ?');
    this.#read.setReturnArrays(true);
    this.#places = places;
    this.#used = used;
    this.#options = options;
    this.#runId = runId;
    this.#failedUpTo = options.failedUpTo ?? 0;
  }

  /**
   * The newest answer that this run goes by already, else the newest that it may use: what another run is told later makes neither another
   * lookup of it nor another row.
   */
  find(scope: number, key: string, hash: number): FoundAnswer | null {
    let reusable: FoundAnswer | null = null;
    let ofNow: FoundAnswer | null = null;
    for (const id of this.#places.idsOf(hash)) {
      const row = this.#read.get(id) as unknown as Row | undefined;
      if (row === undefined || row[5] !== scope || row[6] !== key) continue;
      const [run, at, kind, body, job] = row;
      const answer = decode(kind, body);
      const counted = run === this.#runId || this.#used.has(id);
      if (counted && (answer.kind === 'failed' || answer.kind === 'asking') && this.#isAskedAgain(id, at)) continue;
      if (counted) return { id, answer, counted };
      if (reusable === null && maySpare(answer.kind, at, job, this.#options)) reusable = { id, answer, counted };
      else if (ofNow === null && this.#isOfNow(answer, id, at, job)) ofNow = { id, answer, counted };
    }
    return reusable ?? ofNow;
  }

  /** Whether there is a failure that a retry asks again for. */
  hasFailed(scope: number, key: string): boolean {
    const isMeant = (id: number): boolean => {
      const row = this.#read.get(id) as unknown as Row | undefined;
      if (row === undefined || row[5] !== scope || row[6] !== key) return false;
      const counted = row[0] === this.#runId || this.#used.has(id);
      return counted && this.#isAskedAgain(id, row[1]) && decode(row[2], row[3]).kind === 'failed';
    };
    return [...this.#places.idsOf(keyHash(scope, key))].some(isMeant);
  }

  /** Whether another run got it while this one was under way, so that it counts for both. */
  #isOfNow(answer: LedgerAnswer, id: number, at: number, job: string): boolean {
    const { sharedSince, maxAgeDays, job: own } = this.#options;
    if (sharedSince === undefined || at < sharedSince || (maxAgeDays === 0 && job !== own)) return false;
    return countsForBoth(answer) && !(answer.kind === 'failed' && this.#isAskedAgain(id, at));
  }

  /** Whether a failure is one that a retry asks again for. */
  #isAskedAgain(id: number, at: number): boolean {
    return (this.#options.failedBy === 'time' ? at : id) <= this.#failedUpTo;
  }
}
