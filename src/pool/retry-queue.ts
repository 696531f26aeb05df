import type { Task } from './call.ts';
import { RetryBudget } from './retry-budget.ts';
import type { Timers } from './timers.ts';

interface RetryQueueOptions {
  readonly timers: Timers;
  readonly monotonicNow: () => number;
  /** Whether retries need no budget: during an outage they are probes, with a slower pace of their own. */
  readonly isFree: () => boolean;
  /** Sends a retry. */
  readonly start: (task: Task) => void;
}

/** Retries wait here: first for their own time, then in that order for the retry budget. */
export class RetryQueue {
  readonly #options: RetryQueueOptions;
  readonly #budget = new RetryBudget();
  /** Retries that are due. */
  #due: Task[] = [];
  #isRecheckSet = false;
  /** The number of retries that are not due yet. */
  #later = 0;

  constructor(options: RetryQueueOptions) {
    this.#options = options;
  }

  /** A lookup is sent for the first time, which adds to the budget. */
  firstAttempt(): void {
    this.#budget.firstAttempt();
    if (this.#due.length > 0) this.#startDue();
  }

  /** All waiting retries. */
  get waiting(): number {
    return this.#later + this.#due.length;
  }

  addLater(task: Task, ms: number): void {
    this.#later++;
    this.#options.timers.after(ms, () => {
      this.#later--;
      this.add([task]);
    });
  }

  add(tasks: readonly Task[]): void {
    this.#due.push(...tasks);
    this.#startDue();
  }

  clear(): void {
    this.#due = [];
    this.#later = 0;
  }

  /** Sends due retries, oldest first, as far as the budget allows. */
  #startDue(): void {
    const { timers, monotonicNow, isFree: free, start: go } = this.#options;
    while (this.#due.length > 0 && (free() || this.#budget.take(monotonicNow()))) {
      // Removed before it is sent: sending it may send a first attempt, which calls this again.
      go(this.#due.shift() as Task);
    }
    if (this.#due.length === 0 || this.#isRecheckSet) return;
    this.#isRecheckSet = true;
    timers.after(this.#budget.waitMs, () => {
      this.#isRecheckSet = false;
      this.#startDue();
    });
  }
}
