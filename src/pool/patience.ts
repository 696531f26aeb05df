/** How long the service may go on saying "later". Pure: time is passed in. */
import type { Task } from './call.ts';

export class Patience {
  readonly #maxWaitMs: number;
  /** Since when the service has said nothing but "later"; null: it has not, or something else since. */
  #since: number | null = null;

  constructor(maxWaitMs: number) {
    this.#maxWaitMs = maxWaitMs;
  }

  /** It said something else. */
  answered(): void {
    this.#since = null;
  }

  /** It said "later" to this one. */
  putOff(task: Task, nowMs: number): void {
    this.#since ??= nowMs;
    task.throttledSince ??= nowMs;
  }

  /** What was waited already, with no answer but "later". */
  waitedMs(nowMs: number): number {
    return this.#since === null ? 0 : nowMs - this.#since;
  }

  /** Whether it asks to wait longer, from its first "later" on, than the job may. */
  endsWith(pausedMs: number, nowMs: number): boolean {
    return pausedMs > 0 && pausedMs + this.waitedMs(nowMs) > this.#maxWaitMs;
  }

  /** Whether this lookup alone, while others are answered, has been put off for longer than that. */
  endsForOne(task: Task, pausedMs: number, nowMs: number): boolean {
    return task.throttledSince !== null && nowMs - task.throttledSince + pausedMs > this.#maxWaitMs;
  }
}
