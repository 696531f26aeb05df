/** Durations counted into the buckets of a histogram. Pure. */

/** Upper bounds of the buckets of a latency, seconds: from a service in the same rack to the longest timeout that is usual. */
export const LATENCY_BOUNDS_S: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** How many durations lay up to each bound and no further; the last count is of those beyond. */
export class Durations {
  readonly bounds: readonly number[];
  readonly counts: number[];
  sumS = 0;

  constructor(bounds: readonly number[] = LATENCY_BOUNDS_S) {
    this.bounds = bounds;
    this.counts = bounds.map(() => 0).concat(0);
  }

  add(seconds: number): void {
    const found = this.bounds.findIndex((bound) => seconds <= bound);
    const bucket = found < 0 ? this.bounds.length : found;
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1;
    this.sumS += seconds;
  }
}
