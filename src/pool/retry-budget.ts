/**
 * How many retries there may be beside the first attempts, so that retries never multiply the load on a service that
 * struggles. Pure: time is passed in.
 *
 * A bucket: each first attempt adds `PER_FIRST_ATTEMPT`, each second `PER_SECOND` (without it a tail of nothing but retries
 * would stand still), a retry takes 1. A retry that finds none waits; it is not failed for it. The numbers are Finagle's.
 */

/** One retry for every five first attempts. */
const PER_FIRST_ATTEMPT = 0.2;
const PER_SECOND = 10;
/** Ten seconds of the floor. More is not saved up: a good hour must not pay for a storm. Also what a run begins with. */
export const MOST_SAVED = 100;

export class RetryBudget {
  #saved = MOST_SAVED;
  #filledAt: number | null = null;

  /** A lookup went out for the first time. */
  firstAttempt(): void {
    this.#saved = Math.min(MOST_SAVED, this.#saved + PER_FIRST_ATTEMPT);
  }

  /** Whether a retry may go out now; it is then paid for. */
  take(nowMs: number): boolean {
    const sinceMs = nowMs - (this.#filledAt ?? nowMs);
    this.#filledAt = nowMs;
    this.#saved = Math.min(MOST_SAVED, this.#saved + (sinceMs / 1_000) * PER_SECOND);
    // Sums of tenths are not exact; a hair's breadth must not cost a round of waiting.
    if (this.#saved < 1 - 1e-9) return false;
    this.#saved = Math.max(0, this.#saved - 1);
    return true;
  }

  /** After a refusal: how long until the floor alone allows the next retry. */
  get waitMs(): number {
    return Math.max(1, Math.ceil(((1 - this.#saved) / PER_SECOND) * 1_000));
  }
}
