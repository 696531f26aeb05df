/**
 * How many calls at once, found by watching latency. Pure.
 *
 * Every round of calls it compares the round's mean latency with the best seen lately: while they are alike there is
 * room, and the limit grows; when calls take clearly longer than the service's best, they are queueing there, and the
 * limit shrinks a little. Failures shrink it more. Throttling (429) never changes it: that is the limiter's dial.
 */

export interface ConcurrencyBounds { readonly min: number; readonly max: number; readonly start: number }

export const AUTO_BOUNDS: ConcurrencyBounds = { min: 4, max: 128, start: 16 };

/** Mean latency up to this many times the best is still "room": calls on one connection each overlap a little always. */
const TOLERATED = 2;
/** Below this, latency is the machine's own noise and says nothing about the service. */
const NOISE_MS = 8;
/** The best latency is forgotten slowly, so that a service that became slower for good is not held against its past. */
const FORGET = 1.02;

export class AdaptiveConcurrency {
  readonly #bounds: ConcurrencyBounds;
  #limit: number;
  #best = Infinity;
  #sum = 0;
  #count = 0;
  #failures = 0;

  constructor(bounds: ConcurrencyBounds = AUTO_BOUNDS) {
    this.#bounds = bounds;
    this.#limit = bounds.start;
  }

  get limit(): number {
    return this.#limit;
  }

  /** One finished call. Returns the limit from now on. */
  observe(latencyMs: number, ok: boolean): number {
    this.#sum += latencyMs;
    this.#count++;
    if (!ok) this.#failures++;
    if (this.#count >= Math.max(20, this.#limit)) this.#endRound();
    return this.#limit;
  }

  #endRound(): void {
    const mean = this.#sum / this.#count;
    const failing = this.#failures > this.#count / 10;
    this.#best = Math.min(this.#best * FORGET, Math.max(mean, NOISE_MS));
    if (failing) this.#set(this.#limit * 0.7);
    else if (mean <= this.#best * TOLERATED) this.#set(this.#limit + Math.max(1, Math.sqrt(this.#limit)));
    else this.#set(this.#limit * 0.9);
    this.#sum = 0;
    this.#count = 0;
    this.#failures = 0;
  }

  #set(limit: number): void {
    this.#limit = Math.round(Math.min(this.#bounds.max, Math.max(this.#bounds.min, limit)));
  }
}
