import type { Task } from './call.ts';
import { RetryBudget } from './retry-budget.ts';
import type { Timers } from './timers.ts';

export interface RetryLineOptions {
  readonly timers: Timers;
  readonly monotonicNow: () => number;
  /** Whether retries go without paying: while the service is down they are probes, which have a pace of their own, below that of the budget. */
  readonly free: () => boolean;
  /** Takes a retry that may go. */
  readonly go: (task: Task) => void;
}

/** Where retries wait: first for their own time, then, in that order, for the budget of all. */
export class RetryLine {
  readonly #options: RetryLineOptions;
  readonly #budget = new RetryBudget();
  /** Their time has come. */
  #due: Task[] = [];
  #looksAgain = false;
  /** Their time has not come. */
  #later = 0;

  constructor(options: RetryLineOptions) {
    this.#options = options;
  }

  /** A lookup goes out for the first time, which makes room for retries. */
  firstAttempt(): void {
    this.#budget.firstAttempt();
    if (this.#due.length > 0) this.#letGo();
  }

  /** Retries that wait here. */
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
    this.#letGo();
  }

  clear(): void {
    this.#due = [];
    this.#later = 0;
  }

  /** Lets retries go, oldest first, as far as the budget allows. */
  #letGo(): void {
    const { timers, monotonicNow, free, go } = this.#options;
    while (this.#due.length > 0 && (free() || this.#budget.take(monotonicNow()))) {
      // Off the list before it goes: its going may send a first attempt, which comes here again.
      go(this.#due.shift() as Task);
    }
    if (this.#due.length === 0 || this.#looksAgain) return;
    this.#looksAgain = true;
    timers.after(this.#budget.waitMs, () => {
      this.#looksAgain = false;
      this.#letGo();
    });
  }
}
