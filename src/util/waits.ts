/**
 * Why a run waits although it could send a request. Every part that waits registers here; the progress line, the log, the metrics and the
 * report read it. `run-scope.ts` has the waits of the run that calls.
 * A wait with a beginning and an end: `const leave = waits.enter({ reason: 'storage', what: 'S3 to answer', untilMs: null })`, and
 * `leave()` in a `finally`.
 * A state that changes often: `waits.watch(() => ...)`, which is called when a reader asks.
 */

/**
 * Reasons for sending nothing, the most decisive first. If several waits are active, the first reason in this list is shown.
 * `docs/running.md` lists them.
 */
export const WAIT_REASONS = [
  'lock',
  'outage',
  'throttled',
  'quota',
  'resume',
  'shared_quota',
  'claim',
  'redis',
  'storage',
  'output',
  'answers',
  'retry',
  'verify',
  'input',
  'no_requests',
] as const;

export type WaitReason = (typeof WAIT_REASONS)[number];

export interface Wait {
  readonly reason: WaitReason;
  /** Completes "waiting for ...". It is printed, so it holds no secret and no personal data. */
  readonly what: string;
  /** The latest end of the wait, monotonic milliseconds (`performance.now()`). Null when it is unknown. */
  readonly untilMs: number | null;
}

export class Waits {
  readonly #sources = new Set<() => Wait | null>();

  /** Registers a wait. Returns a function that ends it; calling it twice is harmless. */
  enter(wait: Wait): () => void {
    return this.watch(() => wait);
  }

  /** Registers a source, which returns its current wait, or null while it does not wait. Returns a function that removes the source. */
  watch(source: () => Wait | null): () => void {
    // Two parts may pass the same function, so each gets a wrapper.
    const own = (): Wait | null => source();
    this.#sources.add(own);
    return () => void this.#sources.delete(own);
  }

  /** The most decisive current wait. Null while nothing waits. */
  get current(): Wait | null {
    let first: Wait | null = null;
    for (const source of this.#sources) {
      const wait = source();
      if (wait !== null && (first === null || WAIT_REASONS.indexOf(wait.reason) < WAIT_REASONS.indexOf(first.reason))) first = wait;
    }
    return first;
  }
}
