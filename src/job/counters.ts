import type { RunTotals } from '../checkpoint/checkpoint-file.ts';
import type { CallResult } from '../client/types.ts';
import type { PoolEvents } from '../pool/call-pool.ts';
import { LatencyHistogram } from './latency-histogram.ts';
import type { Step } from './types.ts';

/** What the calls add up to, over all resumes. The only place that counts calls. */
export class Counters implements PoolEvents {
  readonly calls: Record<string, number>;
  retries: number;
  throttledEvents: number;
  throttledMs: number;
  credits: number;
  readonly latency: LatencyHistogram;
  circuitOpen = false;
  /** Calls of this execution alone: for the rate on the progress line. */
  callsNow = 0;
  readonly #activeBefore: number;
  readonly #startedAt: number;
  readonly #now: () => number;

  /** @param now monotonic milliseconds */
  constructor(from: RunTotals | null, now: () => number) {
    this.calls = { ...from?.calls };
    this.retries = from?.retries ?? 0;
    this.throttledEvents = from?.throttled.events ?? 0;
    this.throttledMs = from?.throttled.waitedMs ?? 0;
    this.credits = from?.credits ?? 0;
    this.latency = new LatencyHistogram(from?.latency);
    this.#activeBefore = from?.activeMs ?? 0;
    this.#now = now;
    this.#startedAt = now();
  }

  get allCalls(): number {
    let sum = 0;
    for (const count of Object.values(this.calls)) sum += count;
    return sum;
  }

  sent(step: Step): void {
    this.calls[step] = (this.calls[step] ?? 0) + 1;
    this.callsNow++;
  }

  answered(_step: Step, result: CallResult<unknown>): void {
    this.credits += result.meta.credits;
    if (result.meta.status > 0) this.latency.add(result.meta.latencyMs);
  }

  retrying(): void {
    this.retries++;
  }

  circuit(open: boolean): void {
    this.circuitOpen = open;
  }

  throttled(waitMs: number): void {
    this.throttledEvents++;
    this.throttledMs += Math.round(waitMs);
  }

  /** @param lookups the ledger's totals */
  totals(lookups: { lookups: number; reused: number }): RunTotals {
    return {
      calls: { ...this.calls },
      lookups: { unique: lookups.lookups, fromLedger: lookups.reused },
      retries: this.retries,
      throttled: { events: this.throttledEvents, waitedMs: this.throttledMs },
      credits: this.credits,
      latency: this.latency.toJSON(),
      activeMs: this.#activeBefore + Math.round(this.#now() - this.#startedAt),
    };
  }
}
