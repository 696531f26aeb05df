/** Bounds the time for which the service may throttle. */
import type { Limiter } from '../limiter/limiter.ts';
import type { MillraceError } from '../util/errors.ts';
import type { Task } from './call.ts';
import { waitError } from './fatal-errors.ts';

export class WaitBudget {
  readonly #maxWaitMs: number;
  /** Since when every answer was throttled; null when the last answer was not. */
  #since: number | null = null;

  constructor(maxWaitMs: number) {
    this.#maxWaitMs = maxWaitMs;
  }

  /** An answer was not throttled. */
  answered(): void {
    this.#since = null;
  }

  /** A lookup was throttled. */
  throttled(task: Task, nowMs: number): void {
    this.#since ??= nowMs;
    task.throttledSince ??= nowMs;
  }

  /**
   * The error that ends the run when the limiter's pause exceeds the budget, counted from the first throttled answer. Null while the pause
   * is within it.
   */
  check(limiter: Pick<Limiter, 'pausedMs' | 'usedUp' | 'throttledMs'>, nowMs: number): MillraceError | null {
    const pausedMs = limiter.pausedMs();
    const waitedMs = this.#since === null ? 0 : nowMs - this.#since;
    if (pausedMs <= 0 || pausedMs + waitedMs <= this.#maxWaitMs) return null;
    const usedUp = limiter.usedUp();
    // A pause may be longer than the used-up window.
    const isWindow = usedUp !== null && usedUp.untilMs >= nowMs + limiter.throttledMs();
    return waitError(pausedMs, waitedMs, this.#maxWaitMs, isWindow ? usedUp.what : null);
  }

  /** Whether this lookup alone has been throttled for longer than the budget, while others are answered. */
  isExceededFor(task: Task, pausedMs: number, nowMs: number): boolean {
    return task.throttledSince !== null && nowMs - task.throttledSince + pausedMs > this.#maxWaitMs;
  }
}
