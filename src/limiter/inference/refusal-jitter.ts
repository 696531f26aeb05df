/** Jitter after refusals. Without it, calls that start at the end of a pause could meet another client's calls every time. Pure. */

/** The longest jitter: this many intervals between two calls, and this time. */
const JITTER_INTERVALS = 2;
const MAX_JITTER_MS = 1_000;
const GOLDEN_RATIO = 0.618_033_988_749_895;

export class RefusalJitter {
  #refusals = 0;

  /** Milliseconds to add to the next pause: spread evenly, and the same in every run. @param permitsPerMs the quota's refill rate */
  nextMs(permitsPerMs: number): number {
    if (permitsPerMs === 0) return 0;
    return ((++this.#refusals * GOLDEN_RATIO) % 1) * Math.min(JITTER_INTERVALS / permitsPerMs, MAX_JITTER_MS);
  }
}
