/** Latencies in buckets that grow by 5 %: small enough for a checkpoint, exact enough for percentiles. */

const GROWTH = Math.log(1.05);

export class LatencyHistogram {
  readonly #buckets = new Map<number, number>();
  #count = 0;

  constructor(from: Readonly<Record<string, number>> = {}) {
    for (const [bucket, count] of Object.entries(from)) {
      this.#buckets.set(Number(bucket), count);
      this.#count += count;
    }
  }

  /** @param ms milliseconds */
  add(ms: number): void {
    const bucket = Math.max(0, Math.round(Math.log(Math.max(ms, 0.1) / 0.1) / GROWTH));
    this.#buckets.set(bucket, (this.#buckets.get(bucket) ?? 0) + 1);
    this.#count++;
  }

  /** Milliseconds that `share` (0..1) of the answers stayed under, to within 5 %; null before the first answer. */
  percentile(share: number): number | null {
    if (this.#count === 0) return null;
    let left = Math.ceil(this.#count * share);
    for (const [bucket, count] of [...this.#buckets].sort(([a], [b]) => a - b)) {
      left -= count;
      if (left <= 0) return Math.round(0.1 * Math.exp(bucket * GROWTH) * 10) / 10;
    }
    return null;
  }

  toJSON(): Record<string, number> {
    return Object.fromEntries(this.#buckets);
  }
}
