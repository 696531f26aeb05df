/** How far the refill estimate may be relied on, by how earlier estimates turned out. Pure. */

/** This many calls that a window refilled as estimated prove the estimate. */
const CONVINCING_CALLS = 10;
const MAX_CALLS = 1_000_000;
const MAX_BACKOFF = 8;
const BACKOFF_DECAY = 0.95;

export class EstimateTrust {
  #calls = 1;
  /** An estimated permit was refused once: from then on trust is earned call by call. */
  #hasOverestimated = false;
  #backoff = 1;

  /** The most calls in flight on an estimated permit: one at first, and any number once the estimate is proven. */
  get calls(): number {
    return this.#calls;
  }

  /** The factor by which the wait for a refill is longer than usual, because other clients took the permits of late. */
  get backoff(): number {
    return this.#backoff;
  }

  get hasOverestimated(): boolean {
    return this.#hasOverestimated;
  }

  /** A call on an estimated permit was answered. */
  confirm(): void {
    this.#calls++;
    this.#backoff = Math.max(BACKOFF_DECAY * this.#backoff, 1);
  }

  /** A call was refused. @param isEstimated whether its permit was an estimate */
  refuse(isEstimated: boolean): void {
    if (isEstimated) this.#hasOverestimated = true;
    this.#calls = 1;
    this.#backoff = Math.min(2 * this.#backoff, MAX_BACKOFF);
  }

  /** A window refilled less than estimated. */
  doubt(): void {
    this.#calls = 1;
  }

  /** A window refilled as estimated. */
  prove(refilledCalls: number): void {
    if (refilledCalls >= CONVINCING_CALLS && !this.#hasOverestimated) this.#calls = MAX_CALLS;
  }
}
