import type { PendingAnswer } from '../client/provider-client.ts';
import type { Task } from './call.ts';
import type { CallPoolOptions } from './call-pool-options.ts';
import type { Timers } from './timers.ts';

/** A provider that answers "not yet" without a time must not be asked all the time. */
const SHORTEST_WAIT_MS = 250;

interface PendingAnswersOptions extends Pick<CallPoolOptions, 'longestPollMsOf' | 'monotonicNow'> {
  readonly timers: Timers;
  /** The time has come to ask for the answer. */
  readonly askAgain: (task: Task) => void;
}

/** Calls that the provider has taken and answers later. They wait here without a slot, and asking again costs neither attempt nor retry. */
export class PendingAnswers {
  readonly #options: PendingAnswersOptions;
  #waiting = 0;

  constructor(options: PendingAnswersOptions) {
    this.#options = options;
  }

  /** Calls that wait until they are asked again. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Notes the promise. Returns false when the call has been pending for as long as it may. */
  note(task: Task, { ticket, longestMs, meta: { credits } }: PendingAnswer): boolean {
    const waitedMs = this.#waitedMs(task);
    // The provider is up and has the lookup: earlier failures say nothing any more.
    task.attempts = 0;
    task.sent = 0;
    if (ticket !== task.ticket || credits > 0) {
      task.ticket = ticket;
      task.charged += credits;
      task.call.promised?.(ticket, task.charged);
    }
    return waitedMs < longestMs;
  }

  /** Milliseconds for which failing polls go on, 0 or less when that time is over. Null for a call without a promise. */
  pollLeftMs(task: Task): number | null {
    const longestMs = this.#options.longestPollMsOf?.(task.call.step) ?? null;
    return task.isPromised && longestMs !== null ? longestMs - this.#waitedMs(task) : null;
  }

  /** Milliseconds since the first promise of a call. A restart does not begin the wait again. */
  #waitedMs(task: Task): number {
    const now = this.#options.monotonicNow();
    task.pendingSince ??= now - Math.max(0, Date.now() - (task.call.promise?.at ?? Date.now()));
    return now - task.pendingSince;
  }

  /** Asks for the answer after `afterMs`, at the latest when `longestMs` are over. Call it after `note`. */
  hold(task: Task, { afterMs, longestMs }: PendingAnswer): void {
    const { timers, askAgain } = this.#options;
    const leftMs = longestMs - this.#waitedMs(task);
    this.#waiting++;
    timers.after(Math.max(SHORTEST_WAIT_MS, Math.min(afterMs, leftMs)), () => {
      this.#waiting--;
      askAgain(task);
    });
  }

  /** The timers were cleared. */
  clear(): void {
    this.#waiting = 0;
  }
}
