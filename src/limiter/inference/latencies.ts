/**
 * Bounds on the moments at which the service decides, from latencies. Only the whole latency is known: its two ways together take at least
 * as long as the fastest call did. Pure: time is passed in.
 */

/** Latencies are dropped after one to two of these spans, when another call is answered. */
const SPAN_MS = 60_000;
/** Fewer samples do not show the spread; it is hardly larger than the largest of them. */
const MIN_SAMPLES = 10;

interface Span {
  min: number;
  max: number;
  count: number;
}

export class Latencies {
  #from = -Infinity;
  #previous: Span = { min: Infinity, max: 0, count: 0 };
  #current: Span = { min: Infinity, max: 0, count: 0 };
  #spreadMs = 0;
  #leastMs = 0;
  #maxMs = 0;

  /**
   * How much the distance between two decisions may differ from the distance between the calls, milliseconds. Larger than observed while
   * samples are few.
   */
  get spreadMs(): number {
    return this.#spreadMs;
  }

  /** The least time of one call's way there plus another call's way back, milliseconds: a little below the smallest recent latency. */
  get leastMs(): number {
    return this.#leastMs;
  }

  /** The largest recent latency, milliseconds. */
  get maxMs(): number {
    return this.#maxMs;
  }

  /** @param ownMs the latency of the call itself, where `latencyMs` includes the way of a report from another pod */
  add(latencyMs: number, nowMs: number, ownMs = latencyMs): void {
    if (nowMs - this.#from > SPAN_MS) {
      if (this.#current.count > 0) [this.#previous, this.#current] = [this.#current, { min: Infinity, max: 0, count: 0 }];
      this.#from = nowMs;
    }
    const now = this.#current;
    now.min = Math.min(now.min, ownMs);
    now.max = Math.max(now.max, latencyMs);
    now.count++;
    const count = now.count + this.#previous.count;
    this.#maxMs = Math.max(now.max, this.#previous.max);
    if (count < MIN_SAMPLES) {
      this.#spreadMs = 1.25 * this.#maxMs;
      this.#leastMs = 0;
      return;
    }
    const min = Math.min(now.min, this.#previous.min);
    const seen = this.#maxMs - min;
    const unseen = (4 * this.#maxMs) / (count + 1) ** 2;
    this.#spreadMs = seen * (1 + 8 / count) + unseen;
    // The fastest way there and the fastest way back are seldom the same call's. With few samples they may be far below its latency.
    this.#leastMs = Math.max(0, min - seen * Math.min(1, 2 / Math.sqrt(count)) - unseen);
  }
}
