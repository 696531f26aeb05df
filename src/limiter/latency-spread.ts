/**
 * How far apart the moments of two decisions at the service may be from the moments of their sends. Of a latency only
 * the whole is seen, so the largest less the smallest of late is taken for it. Pure: time is passed in.
 */

/** Latencies older than one to two of these are forgotten. */
const SPAN_MS = 60_000;
/** Fewer than these say nothing of the spread, but that it is hardly larger than the largest of them. */
const FEW = 10;

interface Span { min: number; max: number; count: number }

export class LatencySpread {
  #from = -Infinity;
  #before: Span = { min: Infinity, max: 0, count: 0 };
  #now: Span = { min: Infinity, max: 0, count: 0 };
  #spreadMs = 0;
  #maxMs = 0;

  /** Milliseconds. While few are known it is taken for larger than what was seen. */
  get spreadMs(): number {
    return this.#spreadMs;
  }

  /** The largest of late, milliseconds. */
  get maxMs(): number {
    return this.#maxMs;
  }

  add(latencyMs: number, nowMs: number): void {
    if (nowMs - this.#from > SPAN_MS) {
      if (this.#now.count > 0) [this.#before, this.#now] = [this.#now, { min: Infinity, max: 0, count: 0 }];
      this.#from = nowMs;
    }
    const now = this.#now;
    now.min = Math.min(now.min, latencyMs);
    now.max = Math.max(now.max, latencyMs);
    now.count++;
    const count = now.count + this.#before.count;
    this.#maxMs = Math.max(now.max, this.#before.max);
    if (count < FEW) {
      this.#spreadMs = 1.25 * this.#maxMs;
      return;
    }
    this.#spreadMs = (this.#maxMs - Math.min(now.min, this.#before.min)) * (1 + 8 / count) + (4 * this.#maxMs) / (count + 1) ** 2;
  }
}
