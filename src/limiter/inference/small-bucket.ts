/**
 * The state of a very small bucket at the service, in the worst case. Calls must arrive in order for it however they are delayed: n calls
 * in t must not exceed capacity + rate * (t - spread). Pure: time is passed in.
 */
import type { AlgorithmInference } from './algorithm-inference.ts';
import type { Latencies } from './latencies.ts';

export class SmallBucket {
  readonly #inference: AlgorithmInference;
  readonly #latencies: Latencies;
  #permits = 0;
  #atMs = -Infinity;

  constructor(inference: AlgorithmInference, latencies: Latencies) {
    this.#inference = inference;
    this.#latencies = latencies;
  }

  /** Calls start; Infinity empties the bucket. */
  sent(nowMs: number, calls = 1): void {
    this.#permits = Math.max(0, this.permits(nowMs) - calls);
    this.#atMs = Math.max(this.#atMs, nowMs);
  }

  permits(nowMs: number): number {
    const { perMs, burst } = this.#flow();
    return Math.min(burst, this.#permits + perMs * Math.max(0, nowMs - Math.max(this.#atMs, 0)));
  }

  /** Permits a millisecond. */
  get perMs(): number {
    return this.#flow().perMs;
  }

  #flow(): { readonly perMs: number; readonly burst: number } {
    const { perMs, capacity } = this.#inference;
    const { spreadMs } = this.#latencies;
    const burst = capacity - perMs * spreadMs;
    return burst >= 1 ? { perMs, burst } : { perMs: Math.min(perMs, capacity / (1 / perMs + spreadMs)), burst: 1 };
  }
}
