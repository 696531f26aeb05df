/**
 * One client's fixed part of a plan, where several clients use it at once without talking to each other. Calls go evenly and never exceed
 * the part within a minute. The stated permits are left for all clients together, so they count only when nothing is left: then an unknown
 * client uses the key, and nothing is sent until the stated reset. Together the parts keep to the plan with every limiter that allows a few
 * calls in quick succession. Pure: time is passed in.
 */
import type { Wait } from '../../util/waits.ts';
import type { CallLog } from '../call-log.ts';
import type { Latencies } from '../inference/latencies.ts';
import { MINUTE_MS } from '../inference/quota-observations.ts';
import type { RateReading } from '../inference/rate-reading.ts';
import { noPermits, type EndedCall, type Permits, type QuotaRule, type UsedUp } from '../quota-rule.ts';
import { PlanPace } from './plan-pace.ts';

/** Older calls do not matter: a window, and the latencies that may add to it. */
const KEPT_MS = 2 * MINUTE_MS;

/** A stated limit below the plan may be a bucket's size. A client that keeps to the plan never empties a bucket that far. */
const EMPTIED_SHARE = 0.25;

/** Parts are not used evenly. Spending up to this factor of this part's, plus these calls of each part, is not another client's. */
const UNEVEN_FACTOR = 1.1;
const UNEVEN_CALLS = 2;
/** How long another client is assumed after it was noticed. */
const OTHERS_FOR_MS = 10 * MINUTE_MS;
/** Beside other clients, sending stops below this share of the most permits ever stated: they may take the rest first. */
const NEARLY_USED_UP_SHARE = 0.25;
/** The shortest such stop, so that permits which refill one by one are there for all who wait. */
const MIN_STOP_MS = 2_000;
/** Resets are stated in whole seconds. */
const WHOLE_SECOND_MS = 1_000;

/** A third of 1,200 is 400, not 399. */
export const EPSILON = 1e-6;

/** Requests a minute of a part of a plan; at least one. */
export function rpmOfShare(rpm: number, part: number): number {
  return Math.max(1, Math.floor(rpm * part + EPSILON));
}

export class PlanShare implements QuotaRule {
  readonly #part: number;
  readonly #log: CallLog;
  readonly #latencies: Latencies;
  #rpm: number;
  #pace: PlanPace;
  /** Until when another client is assumed on the key. */
  #othersUntilMs = -Infinity;
  /** The most permits ever stated. */
  #maxRemaining = 0;
  /** No call starts before this; and the number of the answer that caused it. */
  #stop = { untilMs: -Infinity, callNumber: 0 };

  /** @param options.rpm requests a minute of the whole plan @param options.part 0 < part <= 1 */
  constructor({ rpm, part }: { readonly rpm: number; readonly part: number }, log: CallLog, latencies: Latencies) {
    this.#log = log;
    this.#latencies = latencies;
    this.#part = part;
    this.#rpm = rpm;
    this.#pace = this.#newPace();
  }

  readonly limited = true;
  readonly keptMs = KEPT_MS;

  usedUp(nowMs: number): UsedUp | null {
    return nowMs < this.#stop.untilMs ? { what: 'quota', untilMs: this.#stop.untilMs } : null;
  }

  waiting(nowMs: number): Wait | null {
    const { permits, atMs } = this.permits(nowMs);
    if (permits >= 1) return null;
    const what =
      nowMs < this.#stop.untilMs
        ? "the quota, which is used up by the service's own headers"
        : `the next of ${this.#ownRpm} requests a minute, this run's part of the plan`;
    return { reason: 'quota', what, untilMs: atMs };
  }

  permits(nowMs: number): Permits {
    if (nowMs < this.#stop.untilMs) return noPermits(this.#stop.untilMs, nowMs);
    const { permits, atMs } = this.#pace.permits(nowMs);
    return permits > 0 ? { permits, atMs, isKnown: true } : noPermits(atMs, nowMs);
  }

  sent(_callNumber: number, nowMs: number): void {
    this.#pace.sent(nowMs);
  }

  answered({ callNumber, nowMs, reading, throttled }: EndedCall): void {
    if (reading !== null && !reading.unlimited) this.#apply(reading, callNumber, nowMs, throttled);
  }

  get #ownRpm(): number {
    return rpmOfShare(this.#rpm, this.#part);
  }

  #apply({ limit, remaining, resetMs, resetIsSure }: RateReading, callNumber: number, nowMs: number, throttled: boolean): void {
    if (limit !== null && limit < this.#rpm && (throttled || (remaining ?? limit) < EMPTIED_SHARE * limit)) {
      // The service allows less than the stated plan: this is a part of that.
      this.#rpm = limit;
      this.#pace = this.#newPace();
    }
    if (remaining === null) return;
    this.#maxRemaining = Math.max(this.#maxRemaining, remaining);
    // The other parts are assumed to spend like this one. Other clients spend the rest.
    const of = 1 / this.#part;
    if (
      throttled ||
      this.#maxRemaining - remaining > (this.#log.sentAfter(nowMs - MINUTE_MS) + this.#log.inFlight + UNEVEN_CALLS) * of * UNEVEN_FACTOR
    )
      this.#othersUntilMs = nowMs + OTHERS_FOR_MS;
    if (callNumber < this.#stop.callNumber) return;
    const besideOthers = nowMs < this.#othersUntilMs;
    const stopBelow = besideOthers
      ? Math.min(this.#maxRemaining * NEARLY_USED_UP_SHARE, 2 * of * (this.#log.inFlight + 1))
      : this.#log.inFlight;
    const resetInMs = resetIsSure ? (resetMs ?? 0) : 0;
    // The service never has more than one permit, and it returns before this part needs another.
    const isTiny = this.#maxRemaining === 0 && resetInMs <= MINUTE_MS / this.#ownRpm + WHOLE_SECOND_MS;
    const stopMs = remaining > stopBelow || isTiny ? -Infinity : Math.max(resetInMs, besideOthers ? MIN_STOP_MS : 0);
    this.#stop = { untilMs: nowMs + stopMs, callNumber };
  }

  #newPace(): PlanPace {
    return new PlanPace(this.#ownRpm, this.#log, this.#latencies);
  }
}
