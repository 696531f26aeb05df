import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { decodeAnswer, hasTicket, isFit, noteOf, ticketNoteOf, type LedgerAnswer } from './answer.ts';
import { lookupHash } from './key-hash.ts';
import type { LedgerOptions } from './options.ts';
import type { AnswerIndex } from './answer-index.ts';
import { CLOCK_ERROR_MS, countsForBoth, mayReuse } from './reuse.ts';
import type { UsedAnswers } from './used-answers.ts';

/** A row of `answers`, and the job it was asked for. */
type Row = readonly [run: number, at: number, kind: number, body: string, job: string, scope: number, key: string];

/** `counted`: it is one of this run's lookups already. */
interface FoundAnswer {
  readonly id: number;
  readonly answer: LedgerAnswer;
  readonly counted: boolean;
}

/** The answers of a ledger file by key, and which of them a run may use. */
export class LedgerAnswerRows {
  readonly #read: StatementSync;
  readonly #places: AnswerIndex;
  readonly #used: UsedAnswers;
  readonly #options: LedgerOptions;
  readonly #runId: number;
  readonly #failedUpTo: number;

  constructor(db: DatabaseSync, places: AnswerIndex, used: UsedAnswers, options: LedgerOptions, runId: number) {
    this.#read = db.prepare(
      'SELECT a.run, a.at, a.kind, a.body, r.job, a.scope, a.key FROM answers a JOIN runs r ON r.id = a.run WHERE a.id = ?',
    );
    this.#read.setReturnArrays(true);
    this.#places = places;
    this.#used = used;
    this.#options = options;
    this.#runId = runId;
    this.#failedUpTo = options.failedUpTo ?? 0;
  }

  /**
   * The newest answer that this run uses already, else the newest that it may use. An answer that another run gets later changes neither
   * its lookups nor its rows.
   * @param unfit see `RunLedger.ask`
   */
  find(scope: number, key: string, hash: number, unfit: string | null = null): FoundAnswer | null {
    let reusable: FoundAnswer | null = null;
    let ofNow: FoundAnswer | null = null;
    let hasEnded = false;
    for (const id of this.#places.idsOf(hash)) {
      const row = this.#read.get(id) as unknown as Row | undefined;
      if (row === undefined || row[5] !== scope || row[6] !== key) continue;
      const [run, at, kind, body, job] = row;
      const answer = decodeAnswer(kind, body);
      // Older answers are no better.
      if (!isFit(answer, unfit)) break;
      const counted = run === this.#runId || this.#used.has(id);
      const isAskedAgain = counted && (answer.kind === 'failed' || answer.kind === 'asking') && this.#isAskedAgain(id, at);
      // Another run has asked since: its answer is newer than the request that this one has open.
      if (reusable !== null && counted && (isAskedAgain || answer.kind === 'asking')) break;
      if (isAskedAgain) {
        const note = noteOf(answer);
        if (!hasEnded && note !== null && (answer.kind === 'failed' || hasTicket(note)))
          return { id, answer: { kind: 'asking', text: note }, counted };
        // The provider no longer knows the tickets of older rows.
        hasEnded = true;
        continue;
      }
      if (counted) return { id, answer, counted };
      if (reusable === null && mayReuse(answer.kind, at, job, this.#options)) reusable = { id, answer, counted };
      else if (ofNow === null && this.#isOfNow(answer, id, at, job)) ofNow = { id, answer, counted };
    }
    return reusable ?? ofNow;
  }

  /**
   * The note with the ticket of a provider's promise to this run, or to any run whose answers this one may use; null without one, or where
   * a later answer ended it.
   */
  promised(scope: number, key: string, hash: number): string | null {
    for (const id of this.#places.idsOf(hash)) {
      const row = this.#read.get(id) as unknown as Row | undefined;
      if (row === undefined || row[5] !== scope || row[6] !== key) continue;
      if (row[0] !== this.#runId && !mayReuse('hit', row[1], row[4], this.#options)) continue;
      return ticketNoteOf(decodeAnswer(row[2], row[3]));
    }
    return null;
  }

  /** True when the key has a failure that a retry asks again. */
  hasFailed(scope: number, key: string): boolean {
    const isMeant = (id: number): boolean => {
      const row = this.#read.get(id) as unknown as Row | undefined;
      if (row === undefined || row[5] !== scope || row[6] !== key) return false;
      const counted = row[0] === this.#runId || this.#used.has(id);
      return counted && this.#isAskedAgain(id, row[1]) && decodeAnswer(row[2], row[3]).kind === 'failed';
    };
    return [...this.#places.idsOf(lookupHash(scope, key))].some(isMeant);
  }

  /** Whether another run got the answer during this run, so that it counts for both. */
  #isOfNow(answer: LedgerAnswer, id: number, at: number, job: string): boolean {
    const { sharedSince, maxAgeDays, job: own } = this.#options;
    if (sharedSince === undefined || at < sharedSince || at > this.#options.now() + CLOCK_ERROR_MS) return false;
    if (maxAgeDays === 0 && job !== own) return false;
    return countsForBoth(answer) && !(answer.kind === 'failed' && this.#isAskedAgain(id, at));
  }

  /** Whether a retry asks this failure again. */
  #isAskedAgain(id: number, at: number): boolean {
    return (this.#options.failedBy === 'time' ? at : id) <= this.#failedUpTo;
  }
}
