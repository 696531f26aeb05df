/**
 * What this process waits for while it could send a request and does not. Every part that waits says so here, in one line; the
 * progress line, the log, the metrics and the report read it. Imports nothing, so that any room can use it.
 *
 * A wait with a beginning and an end: `const leave = waits.enter({ reason: 'storage', what: 'S3 to answer', untilMs: null })`,
 * and `leave()` in a `finally`. A state that changes all the time: `waits.watch(() => ...)`, which is asked when somebody looks.
 */

/** Why nothing is sent, the most decisive first: of several waits the first in this list is shown. `docs/running.md` lists them. */
export const WAIT_REASONS = ['lock', 'outage', 'throttled', 'quota', 'resume', 'shared_quota', 'claim', 'redis', 'storage', 'output', 'answers', 'retry', 'verify', 'input', 'no_requests'] as const;

export type WaitReason = (typeof WAIT_REASONS)[number];

export interface Wait {
  readonly reason: WaitReason;
  /** Completes "waiting for ...". It is printed, so it holds no secret and no personal data. */
  readonly what: string;
  /** When it ends at the latest, monotonic milliseconds (`performance.now()`); null: nobody knows. */
  readonly untilMs: number | null;
}

export class Waits {
  readonly #sources = new Set<() => Wait | null>();

  /** A wait begins. Returns what ends it; ending it twice does no harm. */
  enter(wait: Wait): () => void {
    return this.watch(() => wait);
  }

  /** Asks `source` for its wait whenever somebody looks; null: it does not wait. Returns what ends that. */
  watch(source: () => Wait | null): () => void {
    // Two parts may pass the same function.
    const own = (): Wait | null => source();
    this.#sources.add(own);
    return () => void this.#sources.delete(own);
  }

  /** The most decisive wait of now; null: nothing waits. */
  get current(): Wait | null {
    let first: Wait | null = null;
    for (const source of this.#sources) {
      const wait = source();
      if (wait !== null && (first === null || WAIT_REASONS.indexOf(wait.reason) < WAIT_REASONS.indexOf(first.reason))) first = wait;
    }
    return first;
  }
}

/** The waits of this process, which runs one job. */
export const waits = new Waits();
