/** The plan's rate alone, where headers say no more: evenly, and never more than the plan in any minute. Pure: time is passed in. */
import type { CallLog } from '../call-log.ts';
import type { Latencies } from '../inference/latencies.ts';
import { MINUTE_MS } from '../inference/quota-observations.ts';

/** The most delay of timers that later calls make up for. */
const MAX_CATCH_UP_MS = 100;

export class PlanPace {
  readonly #rpm: number;
  readonly #log: CallLog;
  readonly #latencies: Latencies;
  #nextMs = -Infinity;

  /** @param rpm requests a minute */
  constructor(rpm: number, log: CallLog, latencies: Latencies) {
    this.#rpm = rpm;
    this.#log = log;
    this.#latencies = latencies;
  }

  /** A call starts. */
  sent(nowMs: number): void {
    const from = this.#nextMs === -Infinity ? nowMs : Math.max(this.#nextMs, nowMs - MAX_CATCH_UP_MS);
    this.#nextMs = from + MINUTE_MS / this.#rpm;
  }

  /** How many calls may start now, and when the next one may. */
  permits(nowMs: number): { readonly permits: number; readonly atMs: number } {
    // Calls that are sent a minute apart may arrive closer together.
    const minuteMs = MINUTE_MS + this.#latencies.spreadMs;
    const most = this.#rpm - this.#log.sentAfter(nowMs - minuteMs);
    if (most <= 0) return { permits: 0, atMs: this.#log.firstSentAfter(nowMs - minuteMs) + minuteMs };
    if (nowMs < this.#nextMs) return { permits: 0, atMs: this.#nextMs };
    const late = Math.min(nowMs - this.#nextMs, MAX_CATCH_UP_MS);
    return { permits: Math.min(most, 1 + Math.floor((late * this.#rpm) / MINUTE_MS)), atMs: nowMs };
  }
}
