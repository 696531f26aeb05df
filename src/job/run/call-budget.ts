import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import { EXIT, MillraceError } from '../../util/errors.ts';
import type { CallSize, MayCall } from '../../pool/call-pool-options.ts';
import type { Counters } from './counters.ts';
import { SpendingLimit } from './spending-limit.ts';
import { count } from '../../util/display.ts';

/** Upper bounds of what a job has spent when the next checkpoint is written. */
export type Claims = Pick<Checkpoint, 'callsAtMost' | 'creditsAtMost'>;

interface CallBudgetOptions {
  /** `limits.maxCalls` and `limits.maxCredits`; null when the job has no such limit. */
  readonly maxCalls: number | null;
  readonly maxCredits: number | null;
  /** Requests of the smallest stated window that must count the calls of a killed run; null or left out when no such window is stated. */
  readonly windowCalls?: number | null;
  readonly counters: Pick<Counters, 'allCalls' | 'credits' | 'creditsAtMost' | 'costAtMost'>;
  /** Calls that killed runs may have sent and did not count, and credits that may have been charged and that no answer named. */
  readonly uncounted: { readonly calls: number; readonly credits: number };
  /** Writes a checkpoint with `claim`, and calls `claimedUpTo` once it is durable. Null when the run keeps no checkpoint. */
  readonly record: (() => Promise<void>) | null;
}

/** Keeps a job within `limits.maxCalls` and `limits.maxCredits`. Stated windows of more than a minute are kept in the same way. */
export class CallBudget {
  readonly #options: CallBudgetOptions;
  readonly #calls: SpendingLimit;
  readonly #credits: SpendingLimit;
  #recording: Promise<void> | null = null;

  constructor(options: CallBudgetOptions) {
    this.#options = options;
    const { maxCalls, maxCredits, windowCalls = null, counters, uncounted } = options;
    const record = options.record === null ? null : () => this.#record();
    this.#calls = new SpendingLimit({ most: maxCalls, window: windowCalls, spent: () => this.sent, record });
    this.#credits = new SpendingLimit({ most: maxCredits, spent: () => counters.creditsAtMost + uncounted.credits, record });
  }

  /** Calls that this job has sent, or may have sent. */
  get sent(): number {
    return this.#options.counters.allCalls + this.#options.uncounted.calls;
  }

  /** Calls and credits that the job has spent by now, or may have spent. */
  get spent(): Claims {
    const { counters, uncounted } = this.#options;
    return { callsAtMost: this.sent, creditsAtMost: counters.creditsAtMost + uncounted.credits };
  }

  /** The error of a job that has reached a limit. @param call the call that is refused */
  reached(call: CallSize): MillraceError {
    const { maxCalls, maxCredits, counters, uncounted } = this.#options;
    if (this.#calls.left < 1) {
      const { calls } = uncounted;
      const killed = calls === 0 ? '' : `, ${count(calls)} of them perhaps, by a run that was killed before it could count them`;
      return refused('max_calls', `limits.maxCalls is reached: ${count(this.sent)} of ${count(maxCalls ?? 0)} calls were sent${killed}`, {
        hint: 'Raise --max-calls and run the same command: the job resumes.',
      });
    }
    const { creditsAtMost } = this.spent;
    const most = count(maxCredits ?? 0);
    return refused(
      'max_credits',
      this.#credits.left < 1
        ? `limits.maxCredits is reached: ${count(creditsAtMost)} of ${most} credits are spent${perhaps(creditsAtMost - counters.credits)}`
        : `the next call may cost ${count(counters.costAtMost(call))} credits, and limits.maxCredits leaves ${count(this.#credits.left)} ` +
            `of ${most}${perhaps(creditsAtMost - counters.credits)}`,
      { hint: 'Raise --limits.maxCredits and run the same command: the job resumes.' },
    );
  }

  /** Whether this call may be sent. @throws StorageError by the promise */
  ask(call: CallSize): MayCall {
    const calls = this.#calls.ask(1);
    if (calls !== true) return calls === false ? 'never' : calls;
    // Its cost is reserved. An answer may even turn out dearer than the limit.
    if (call.isPoll === true) return true;
    const credits = this.#credits.ask(this.#options.counters.costAtMost(call));
    if (credits !== false) return credits;
    return this.#credits.left < 1 ? 'spent' : 'smaller';
  }

  /** The claims of a checkpoint that is written now. */
  claim(): Claims {
    return { callsAtMost: this.#calls.claim(), creditsAtMost: this.#credits.claim() };
  }

  /** The checkpoint with these claims is durable. */
  claimedUpTo({ callsAtMost, creditsAtMost }: Claims): void {
    this.#calls.claimedUpTo(callsAtMost);
    this.#credits.claimedUpTo(creditsAtMost);
  }

  #record(): Promise<void> {
    this.#recording ??= (this.#options.record?.() ?? Promise.resolve()).finally(() => {
      this.#recording = null;
    });
    return this.#recording;
  }
}

function perhaps(credits: number): string {
  return credits === 0 ? '' : `, ${count(credits)} of them perhaps, by answers that never arrived, name no credits or are still to come`;
}

function refused(code: string, message: string, options: { readonly hint: string }): MillraceError {
  return new MillraceError(EXIT.refused, code, message, options);
}
