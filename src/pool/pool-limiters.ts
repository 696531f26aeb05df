/** The limiters of a pool: that of its requests, and those of polls that are counted apart. */
import type { Limiter } from '../limiter/limiter.ts';
import type { MillraceError } from '../util/errors.ts';
import type { Task } from './call.ts';
import type { CallPoolOptions } from './call-pool-options.ts';
import type { WaitBudget } from './wait-budget.ts';

export class PoolLimiters {
  readonly #options: Pick<CallPoolOptions, 'limiter' | 'pollLimiters' | 'limiterOfPolls'>;
  readonly #all: readonly Limiter[];

  constructor(options: Pick<CallPoolOptions, 'limiter' | 'pollLimiters' | 'limiterOfPolls'>) {
    this.#options = options;
    this.#all = [options.limiter, ...(options.pollLimiters ?? [])];
  }

  /** The limiter that counts the next request of a call. */
  of({ isPromised, call: { step } }: Task): Limiter {
    const { limiter, limiterOfPolls } = this.#options;
    return isPromised ? (limiterOfPolls?.(step) ?? limiter) : limiter;
  }

  /** The error that ends the run when a pause exceeds the budget; null while all are within it. */
  tooLong(budget: WaitBudget, nowMs: number): MillraceError | null {
    for (const limiter of this.#all) {
      const error = budget.check(limiter, nowMs);
      if (error !== null) return error;
    }
    return null;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#all.map((limiter) => limiter.stop()));
  }
}
