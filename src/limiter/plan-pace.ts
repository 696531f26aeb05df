/** The plan's rate alone, where no headers say more: evenly, and never more than it in any minute. Pure: time is passed in. */
import type { CallLog } from './call-log.ts';
import type { Latencies } from './latencies.ts';
import { MINUTE_MS } from './told-answers.ts';

/** So much lateness of timers is made up for. */
const CATCH_UP_MS = 100;

export class PlanPace {
  readonly #rpm: number;
  readonly #log: CallLog;
  readonly #latencies: Latencies;
  #nextMs = -Infinity;
  #catchUpFromMs = -Infinity;

  /** @param rpm requests a minute */
  constructor(rpm: number, log: CallLog, latencies: Latencies) {
    this.#rpm = rpm;
    this.#log = log;
    this.#latencies = latencies;
  }

  /** A call starts. */
  sent(nowMs: number): void {
    const from = this.#nextMs === -Infinity ? nowMs : Math.max(this.#nextMs, nowMs - this.#catchUpMs(nowMs));
    this.#nextMs = from + MINUTE_MS / this.#rpm;
  }

  /** The limiter may hold no burst at all: lateness is not made up for until a minute went well. */
  throttled(nowMs: number): void {
    this.#catchUpFromMs = nowMs + MINUTE_MS;
  }

  /** How many calls may start now, and if none, when one may. */
  permits(nowMs: number): { readonly permits: number; readonly atMs: number } {
    // What is sent a minute apart may arrive closer than that.
    const minuteMs = MINUTE_MS + this.#latencies.spreadMs;
    const most = this.#rpm - this.#log.sentAfter(nowMs - minuteMs);
    if (most <= 0) return { permits: 0, atMs: this.#log.firstSentAfter(nowMs - minuteMs) + minuteMs };
    if (nowMs < this.#nextMs) return { permits: 0, atMs: this.#nextMs };
    const late = Math.min(nowMs - this.#nextMs, this.#catchUpMs(nowMs));
    return { permits: Math.min(most, 1 + Math.floor((late * this.#rpm) / MINUTE_MS)), atMs: nowMs };
  }

  #catchUpMs(nowMs: number): number {
    return nowMs < this.#catchUpFromMs ? 0 : CATCH_UP_MS;
  }
}
