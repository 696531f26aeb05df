/**
 * Bounds the retries beside first attempts, so that they never multiply the load on a struggling service. Pure: time is passed in.
 *
 * A token bucket: each first attempt adds `PER_FIRST_ATTEMPT`, each second adds `PER_SECOND`, and a retry takes 1. Without the second
 * rate, a tail of retries alone would stand still. A retry without a token waits. The numbers are Finagle's.
 */

/** One retry for every five first attempts. */
const PER_FIRST_ATTEMPT = 0.2;
const PER_SECOND = 10;
/** Ten seconds of `PER_SECOND`, and the initial content. More is not saved up: a good hour must not pay for a storm of retries. */
export const MAX_SAVED = 100;

export class RetryBudget {
  #saved = MAX_SAVED;
  #filledAt: number | null = null;

  /** A lookup was sent for the first time. */
  firstAttempt(): void {
    this.#saved = Math.min(MAX_SAVED, this.#saved + PER_FIRST_ATTEMPT);
  }

  /** Takes a token for a retry. Returns whether there was one. */
  take(nowMs: number): boolean {
    const sinceMs = nowMs - (this.#filledAt ?? nowMs);
    this.#filledAt = nowMs;
    this.#saved = Math.min(MAX_SAVED, this.#saved + (sinceMs / 1_000) * PER_SECOND);
    // Sums of tenths are not exact: a rounding error must not cost a round of waiting.
    if (this.#saved < 1 - 1e-9) return false;
    this.#saved = Math.max(0, this.#saved - 1);
    return true;
  }

  /** Milliseconds until `PER_SECOND` alone allows the next retry. */
  get waitMs(): number {
    return Math.max(1, Math.ceil(((1 - this.#saved) / PER_SECOND) * 1_000));
  }
}
