/**
 * How fast a service is asked that admits no two calls at once, as a part of its rate. A refusal slows calls down, because their delays on
 * the way vary. Admitted calls return to the pace of the refusal, stay near it, and then go beyond it ever faster. Pure.
 */

/** The fastest pace: below it, calls keep a distance that takes up the usual delays. */
const FASTEST = 0.96;
export const SLOWEST_PACE = 0.3;
/** A refusal slows calls by this part; by twice as much, up to the most, when it follows the last within these calls. */
const SLOWDOWN = 0.02;
const MAX_SLOWDOWN = 0.1;
const SOON_AFTER_CALLS = 100;
/** After this many admitted calls the pace is near that of the refusal. After twice as many it is as far above as it was below. */
const RETURN_CALLS = 400;
/** Paces are tried in steps of at least this. */
const LEAST_STEP = 0.01;

export class RefusalPace {
  /** The pace that calls return to, and how far below it the refusal has put them. */
  #target = FASTEST;
  #belowBy = 0;
  #slowdown = SLOWDOWN;
  #admitted = 0;

  /** The part of the rate that is used. */
  get share(): number {
    const left = 1 - this.#admitted / RETURN_CALLS;
    const by = left > 0 ? this.#belowBy : Math.max(LEAST_STEP, this.#belowBy);
    return Math.min(FASTEST, Math.max(SLOWEST_PACE, this.#target - by * left ** 3));
  }

  admitted(): void {
    this.#admitted++;
  }

  refused(): void {
    const before = this.share;
    this.#slowdown = this.#admitted < SOON_AFTER_CALLS ? Math.min(MAX_SLOWDOWN, 2 * this.#slowdown) : SLOWDOWN;
    this.#target = before * (1 - this.#slowdown / 2);
    this.#belowBy = (before * this.#slowdown) / 2;
    this.#admitted = 0;
  }

  /** Continues with what the run before has learnt. */
  restore(share: number): void {
    [this.#target, this.#belowBy, this.#admitted] = [share, 0, 0];
  }
}
