import { EXIT, MillraceError } from '../../util/errors.ts';
import type { Counters } from './counters.ts';
import { count } from '../../util/display.ts';

/** How many calls are claimed together: this share of the limit, and at most this many. */
const CLAIM_SHARE = 0.01;
const MAX_CLAIM = 1_000;

interface CallBudgetOptions {
  /** `limits.maxCalls`; null when the job has no limit. */
  readonly maxCalls: number | null;
  /** Requests of the smallest stated window that must count the calls of a killed run; null or left out when no such window is stated. */
  readonly windowCalls?: number | null;
  readonly counters: Pick<Counters, 'allCalls'>;
  /** Calls that killed runs may have sent and did not count. */
  readonly uncounted: number;
  /** Writes a checkpoint with `claim`, and calls `claimedUpTo` once it is durable. Null when the run keeps no checkpoint. */
  readonly record: (() => Promise<void>) | null;
}

/**
 * Keeps a job within `limits.maxCalls`, also when its process is killed. Calls are claimed in the checkpoint before they are sent, a
 * hundredth of the limit at a time. A killed run leaves its claim behind, and the next run counts all of it as sent. Stated windows of more
 * than a minute are kept in the same way.
 */
export class CallBudget {
  readonly #options: CallBudgetOptions;
  readonly #step: number;
  readonly #claims: boolean;
  /** How many calls the job may have sent in all by now. */
  #claimed: number;
  #recording: Promise<void> | null = null;

  constructor(options: CallBudgetOptions) {
    this.#options = options;
    const { maxCalls, windowCalls = null, record } = options;
    this.#claims = maxCalls !== null || windowCalls !== null;
    this.#step = Math.min(MAX_CLAIM, Math.max(1, Math.ceil(Math.min(maxCalls ?? Infinity, windowCalls ?? Infinity) * CLAIM_SHARE)));
    this.#claimed = record === null ? Infinity : 0;
  }

  /** Calls that this job has sent, or may have sent. */
  get sent(): number {
    return this.#options.counters.allCalls + this.#options.uncounted;
  }

  /** The error of a job that has reached its limit. */
  reached(): MillraceError {
    const { maxCalls, uncounted } = this.#options;
    const killed = uncounted === 0 ? '' : `, ${count(uncounted)} of them perhaps, by a run that was killed before it could count them`;
    return new MillraceError(
      EXIT.refused,
      'max_calls',
      `limits.maxCalls is reached: ${count(this.sent)} of ${count(maxCalls ?? 0)} calls were sent${killed}`,
      { hint: 'Raise --max-calls and run the same command: the job resumes.' },
    );
  }

  /**
   * True when one call may be sent at once, false when the limit is reached. A promise means: ask again when it resolves.
   * @throws StorageError by the promise
   */
  ask(): boolean | Promise<void> {
    const { maxCalls } = this.#options;
    if (!this.#claims) return true;
    const left = this.#claimed - this.sent;
    const most = maxCalls ?? Infinity;
    if (this.sent >= most) return false;
    if (left <= 0) return this.#record();
    // Early enough that no call waits for the disk. A call that has to wait after all gets the failure.
    if (left <= this.#step / 2 && this.#claimed < most) this.#record().catch(() => undefined);
    return true;
  }

  /** `callsAtMost` of a checkpoint that is written now. */
  claim(): number {
    const { maxCalls } = this.#options;
    return this.#claims ? Math.max(this.sent, Math.min(maxCalls ?? Infinity, this.sent + this.#step)) : this.sent;
  }

  /** The checkpoint with this claim is durable. */
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
