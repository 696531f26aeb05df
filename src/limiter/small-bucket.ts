/**
 * The bucket that holds next to nothing, as it is at the service at worst: calls must arrive in order for it however
 * they are delayed, so n calls in t must not be more than capacity + rate * (t - spread). Pure: time is passed in.
 */
import type { Evidence } from './evidence.ts';
import type { Latencies } from './latencies.ts';

export class SmallBucket {
  readonly #evidence: Evidence;
  readonly #latencies: Latencies;
  #permits = 0;
  #atMs = -Infinity;

  constructor(evidence: Evidence, latencies: Latencies) {
    this.#evidence = evidence;
    this.#latencies = latencies;
  }

  /** Calls start; Infinity: it is empty. */
  sent(nowMs: number, calls = 1): void {
    this.#permits = Math.max(0, this.permits(nowMs) - calls);
  }

  permits(nowMs: number): number {
    const { perMs, burst } = this.#flow();
    this.#permits = Math.min(burst, this.#permits + perMs * Math.max(0, nowMs - Math.max(this.#atMs, 0)));
    this.#atMs = Math.max(this.#atMs, nowMs);
    return this.#permits;
  }

  /** Permits a millisecond. */
  get perMs(): number {
    return this.#flow().perMs;
  }

  #flow(): { readonly perMs: number; readonly burst: number } {
    const { perMs, capacity } = this.#evidence;
    const { spreadMs } = this.#latencies;
    const burst = capacity - perMs * spreadMs;
    return burst >= 1 ? { perMs, burst } : { perMs: Math.min(perMs, capacity / (1 / perMs + spreadMs)), burst: 1 };
  }
}
