/** Latencies in buckets that grow by 5 %: small enough for a checkpoint, exact enough for percentiles. */

const GROWTH = Math.log(1.05);

/** Answers of a range of latencies, milliseconds. */
export interface LatencyRange {
  readonly fromMs: number;
  readonly toMs: number;
  readonly answers: number;
}

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

  /**
   * All answers in `most` ranges at most, each as many times as long as the one before; those in between that have none are there as well.
   */
  ranges(most: number): LatencyRange[] {
    if (this.#count === 0) return [];
    const buckets = [...this.#buckets.keys()];
    const [first, last] = [Math.min(...buckets), Math.max(...buckets)];
    const width = Math.ceil((last - first + 1) / most);
    const ranges = Array.from({ length: Math.ceil((last - first + 1) / width) }, (_, i) => {
      const from = first + i * width;
      return { fromMs: edgeMs(from), toMs: edgeMs(from + width), answers: 0 };
    });
    for (const [bucket, count] of this.#buckets) {
      const range = ranges[Math.floor((bucket - first) / width)];
      if (range !== undefined) range.answers += count;
    }
    return ranges;
  }

  toJSON(): Record<string, number> {
    return Object.fromEntries(this.#buckets);
  }
}

/** Where a bucket begins: half-way, as they grow, between its middle and that of the one before. */
function edgeMs(bucket: number): number {
  return bucket === 0 ? 0 : 0.1 * Math.exp((bucket - 0.5) * GROWTH);
}
