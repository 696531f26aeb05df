/**
 * How many calls at once, found by watching latency. Pure.
 *
 * Every round of calls it compares the round's mean latency with the service's best: while they are alike there is
 * room, and the limit grows; when calls take clearly longer, they are queueing there, and the limit shrinks a little.
 * Failures shrink it more. Throttling (429) never changes it: that is the limiter's dial.
 *
 * The best is measured, not remembered: every so often a round runs at a quarter of the limit. Without that the best
 * seen would follow the queue that the limit itself makes, and the limit would climb for ever.
 */

export interface ConcurrencyBounds { readonly min: number; readonly max: number; readonly start: number }

export const AUTO_BOUNDS: ConcurrencyBounds = { min: 4, max: 128, start: 16 };

/** Mean latency up to this many times the best is still "room": calls on one connection each overlap a little always. */
const TOLERATED = 2;
/** Below this, latency is the machine's own noise and says nothing about the service. */
const NOISE_MS = 8;
/** Calls in a round: the limit, and at least this many. */
const SHORTEST_ROUND = 20;
/** Rounds between two measurements of the best. */
const MEASURE_EVERY = 30;

export class AdaptiveConcurrency {
  readonly #bounds: ConcurrencyBounds;
  #limit: number;
  #best = Infinity;
  #sum = 0;
  #count = 0;
  #failures = 0;
  #rounds = 0;
  /** While the best is measured: the limit to go back to. */
  #backTo: number | null = null;
  /** Calls that left before the limit was lowered, and say nothing about it. */
  #skip = 0;

  constructor(bounds: ConcurrencyBounds = AUTO_BOUNDS) {
    this.#bounds = bounds;
    this.#limit = bounds.start;
  }

  get limit(): number {
    return this.#limit;
  }

  /** One finished call. Returns the limit from now on. */
  observe(latencyMs: number, ok: boolean): number {
    if (this.#skip > 0) {
      this.#skip--;
      return this.#limit;
    }
    this.#sum += latencyMs;
    this.#count++;
    if (!ok) this.#failures++;
    if (this.#count >= Math.max(SHORTEST_ROUND, this.#limit)) this.#endRound();
    return this.#limit;
  }

  #endRound(): void {
    const mean = Math.max(NOISE_MS, this.#sum / this.#count);
    const failing = this.#failures > this.#count / 10;
    this.#sum = 0;
    this.#count = 0;
    this.#failures = 0;
    const limit = this.#backTo ?? this.#limit;
    this.#best = this.#backTo === null ? Math.min(this.#best, mean) : mean;
    this.#backTo = null;
    if (failing) this.#set(limit * 0.7);
    else if (++this.#rounds % MEASURE_EVERY === 0) this.#measure(limit);
    else if (mean > this.#best * TOLERATED) this.#set(limit * 0.9);
    else this.#set(limit + Math.max(1, Math.sqrt(limit)));
  }

  #measure(limit: number): void {
    this.#backTo = limit;
    this.#skip = limit;
    this.#set(limit / 4);
  }

  #set(limit: number): void {
    this.#limit = Math.round(Math.min(this.#bounds.max, Math.max(this.#bounds.min, limit)));
  }
}
