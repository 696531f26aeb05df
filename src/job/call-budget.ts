import { EXIT, MillraceError } from '../errors.ts';
import type { Counters } from './counters.ts';
import { count } from './words.ts';

/** Calls that are claimed together, as a share of the limit, and at most. */
const CLAIM_SHARE = 0.01;
const CLAIM_MOST = 1_000;

export interface CallBudgetOptions {
  /** `limits.maxCalls`; null: no limit. */
  readonly maxCalls: number | null;
  /** Requests of the smallest stated window that must not forget what a killed run has sent; null, or left out: there is none. */
  readonly windowCalls?: number | null;
  readonly counters: Pick<Counters, 'allCalls'>;
  /** Calls that runs before may have sent and did not live to count. */
  readonly uncounted: number;
  /** Writes a checkpoint with `claim`, and calls `claimedUpTo` once it is durable. Null: there is none, and no resume either. */
  readonly record: (() => Promise<void>) | null;
}

/**
 * Holds a job to `limits.maxCalls`, whatever kills it: a call is sent only after the checkpoint says that it may have
 * been. Calls are claimed a hundredth of the limit at a time, ahead of their sending; a run that is killed leaves its
 * claim behind, and the next one counts all of it as sent. A stated window of more than a minute is held to in the same way.
 */
export class CallBudget {
  readonly #options: CallBudgetOptions;
  readonly #step: number;
  readonly #claims: boolean;
  /** So many calls in all may be sent now. */
  #claimed: number;
  #recording: Promise<void> | null = null;

  constructor(options: CallBudgetOptions) {
    this.#options = options;
    const { maxCalls, windowCalls = null, record } = options;
    this.#claims = maxCalls !== null || windowCalls !== null;
    this.#step = Math.min(CLAIM_MOST, Math.max(1, Math.ceil(Math.min(maxCalls ?? Infinity, windowCalls ?? Infinity) * CLAIM_SHARE)));
    this.#claimed = record === null ? Infinity : 0;
  }

  /** Calls that this job has sent, or may have. */
  get sent(): number {
    return this.#options.counters.allCalls + this.#options.uncounted;
  }

  /** What a job ends with whose limit is reached. */
  reached(): MillraceError {
    const { maxCalls, uncounted } = this.#options;
    const killed = uncounted === 0 ? '' : `, ${count(uncounted)} of them perhaps, by a run that was killed before it could count them`;
    return new MillraceError(EXIT.refused, 'max_calls', `limits.maxCalls is reached: ${count(this.sent)} of ${count(maxCalls ?? 0)} calls were sent${killed}`, { hint: 'Raise --max-calls and run the same command: the job resumes.' });
  }

  /** True: one call may be sent at once. False: the limit is reached. A promise: ask again when it resolves. @throws by it, StorageError */
  ask(): boolean | Promise<void> {
    const { maxCalls } = this.#options;
    if (!this.#claims) return true;
    const left = this.#claimed - this.sent;
    const most = maxCalls ?? Infinity;
    if (this.sent >= most) return false;
    if (left <= 0) return this.#record();
    // In time, so that nobody waits for the disk. Whoever has to wait after all meets its failure.
    if (left <= this.#step / 2 && this.#claimed < most) this.#record().catch(() => undefined);
    return true;
  }

  /** What a checkpoint that is written now must say. */
  claim(): number {
    const { maxCalls } = this.#options;
    return this.#claims ? Math.max(this.sent, Math.min(maxCalls ?? Infinity, this.sent + this.#step)) : this.sent;
  }

  /** The checkpoint that says so is durable. */
  claimedUpTo(calls: number): void {
    this.#claimed = Math.max(this.#claimed, calls);
  }

  #record(): Promise<void> {
    this.#recording ??= (this.#options.record?.() ?? Promise.resolve()).finally(() => {
      this.#recording = null;
    });
    return this.#recording;
  }
}
