/**
 * What latencies say of the moments at which the service decides. Of a latency only the whole is seen: how long the
 * way there took is unknown, but not that the two ways together take at least as long as the fastest call did.
 * Pure: time is passed in.
 */

/** Latencies older than one to two of these are forgotten when another comes; without one, what was known last holds. */
const SPAN_MS = 60_000;
/** Fewer than these say nothing of the spread, but that it is hardly larger than the largest of them. */
const FEW = 10;

interface Span { min: number; max: number; count: number }

export class Latencies {
  #from = -Infinity;
  #before: Span = { min: Infinity, max: 0, count: 0 };
  #now: Span = { min: Infinity, max: 0, count: 0 };
  #spreadMs = 0;
  #leastMs = 0;
  #maxMs = 0;

  /** How far apart two decisions may be from how far apart the calls were sent, milliseconds. While few latencies are known it is taken for larger than was seen. */
  get spreadMs(): number {
    return this.#spreadMs;
  }

  /** So long at least the way there of one call and the way back of another take together, milliseconds: a little less than the smallest of late. */
  get leastMs(): number {
    return this.#leastMs;
  }

  /** The largest of late, milliseconds. */
  get maxMs(): number {
    return this.#maxMs;
  }

  /** @param itselfMs how long the call itself took, where others have told of it by roundabout ways: only so long its two ways take together for sure */
  add(latencyMs: number, nowMs: number, itselfMs = latencyMs): void {
    if (nowMs - this.#from > SPAN_MS) {
      if (this.#now.count > 0) [this.#before, this.#now] = [this.#now, { min: Infinity, max: 0, count: 0 }];
      this.#from = nowMs;
    }
    const now = this.#now;
    now.min = Math.min(now.min, itselfMs);
    now.max = Math.max(now.max, latencyMs);
    now.count++;
    const count = now.count + this.#before.count;
    this.#maxMs = Math.max(now.max, this.#before.max);
    if (count < FEW) {
      this.#spreadMs = 1.25 * this.#maxMs;
      this.#leastMs = 0;
      return;
    }
    const min = Math.min(now.min, this.#before.min);
    const seen = this.#maxMs - min;
    const unseen = (4 * this.#maxMs) / (count + 1) ** 2;
    this.#spreadMs = seen * (1 + 8 / count) + unseen;
    // The fastest way there and the fastest way back are seldom one call's: the fewer calls, the further below its latency they may be.
    this.#leastMs = Math.max(0, min - seen * Math.min(1, 2 / Math.sqrt(count)) - unseen);
  }
}
