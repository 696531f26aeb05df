/**
 * One client's fixed part of a plan, where several clients use it at once without talking to each other. Calls go evenly and never exceed
 * the part within a minute. The stated permits are left for all clients together, so they count only when nothing is left: then an unknown
 * client uses the key, and nothing is sent until the stated reset. Together the parts keep to the plan with every limiter that allows a few
 * calls in quick succession. Pure: time is passed in.
 */
import { CallLog } from './call-log.ts';
import { Latencies } from './latencies.ts';
import { PlanPace } from './plan-pace.ts';
import type { RateReading } from './rate-reading.ts';
import { MINUTE_MS } from './quota-observations.ts';
import type { RecentSlots } from './recent-slots.ts';
import type { Wait } from '../util/waits.ts';

/** Older calls do not matter: a window, and the latencies that may add to it. */
const KEPT_MS = 2 * MINUTE_MS;

/** The shortest time until the share is asked again: a shorter one could round to now and repeat for ever. */
const MIN_RECHECK_MS = 0.25;

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
const EPSILON = 1e-6;

/** Requests a minute of a part of a plan; at least one. */
export function rpmOfShare(rpm: number, part: number): number {
  return Math.max(1, Math.floor(rpm * part + EPSILON));
}

export class PlanShare {
  readonly #part: number;
  readonly #log = new CallLog();
  readonly #latencies = new Latencies();
  #rpm: number;
  #pace: PlanPace;
  #nextAt = Infinity;
  /** Until when another client is assumed on the key. */
  #othersUntilMs = -Infinity;
  /** The most permits ever stated. */
  #maxRemaining = 0;
  /** No call starts before this; and the ticket of the answer that caused it. */
  #stop = { untilMs: -Infinity, ticket: 0 };

  /** @param options.rpm requests a minute of the whole plan @param options.part 0 < part <= 1 */
  constructor({ rpm, part }: { readonly rpm: number; readonly part: number }) {
    this.#part = part;
    this.#rpm = rpm;
    this.#pace = this.#newPace();
  }

  /** Requests a minute. */
  get rpm(): number {
    return rpmOfShare(this.#rpm, this.#part);
  }

  readonly limited = true;

  /** When `permits` should be asked again. */
  get nextAt(): number {
    return this.#nextAt;
  }

  /** Adds earlier calls of the last minute. */
  restore(slots: RecentSlots): void {
    this.#log.restore(slots);
  }

  /** Calls of the last minute, for the next run. */
  recent(nowMs: number): RecentSlots {
    return this.#log.recent(nowMs, MINUTE_MS);
  }

  spent(nowMs: number): number {
    return this.#log.sentAfter(nowMs - MINUTE_MS);
  }

  /** Milliseconds until a call may start. */
  waitMs(nowMs: number): number {
    return this.permits(nowMs) >= 1 ? 0 : Math.max(0, this.#nextAt - nowMs);
  }

  /** The reason why calls wait; null when one may start. */
  waiting(nowMs: number): Wait | null {
    const waitMs = this.waitMs(nowMs);
    if (waitMs <= 0) return null;
    const what =
      nowMs < this.#stop.untilMs
        ? "the quota, which is used up by the service's own headers"
        : `the next of ${this.rpm} requests a minute, this run's part of the plan`;
    return { reason: 'quota', what, untilMs: nowMs + waitMs };
  }

  /** How many calls may start now. */
  permits(nowMs: number): number {
    const { permits, atMs } = nowMs < this.#stop.untilMs ? { permits: 0, atMs: this.#stop.untilMs } : this.#pace.permits(nowMs);
    this.#nextAt = permits > 0 ? nowMs : Math.max(atMs, nowMs + MIN_RECHECK_MS);
    return permits;
  }

  /** A call starts; returns its ticket. */
  sent(nowMs: number): number {
    this.#pace.sent(nowMs);
    return this.#log.sent(nowMs, nowMs - KEPT_MS);
  }

  /** Takes the answer to a call, or its failure. @param ownMs the duration of the call itself, where another pod reports it */
  answered(
    ticket: number,
    nowMs: number,
    reading: RateReading | null,
    throttled = false,
    _waitMs: number | null = null,
    failed = false,
    ownMs?: number,
  ): void {
    const sentMs = this.#log.answered(ticket, nowMs);
    if (!failed) this.#latencies.add(nowMs - sentMs, nowMs, ownMs);
    if (throttled) this.#pace.throttled(nowMs);
    if (reading !== null && !reading.unlimited) this.#apply(reading, ticket, nowMs, throttled);
  }

  /** A granted call was not sent. */
  withdrawn(ticket: number, nowMs: number): void {
    this.#log.answered(ticket, nowMs);
  }

  /** The state, for the message of a test. */
  explain(nowMs: number): string {
    return `a part of ${this.rpm} a minute, ${this.spent(nowMs)} spent`;
  }

  #apply({ limit, remaining, resetMs, resetIsSure }: RateReading, ticket: number, nowMs: number, throttled: boolean): void {
    if (limit !== null && limit < this.#rpm && (throttled || (remaining ?? limit) < EMPTIED_SHARE * limit)) {
      // The service allows less than the stated plan: this is a part of that.
      this.#rpm = limit;
      this.#pace = this.#newPace();
    }
    if (remaining === null) return;
    this.#maxRemaining = Math.max(this.#maxRemaining, remaining);
    // The other parts are assumed to spend like this one. Other clients spend the rest.
    const of = 1 / this.#part;
    if (throttled || this.#maxRemaining - remaining > (this.spent(nowMs) + this.#log.inFlight + UNEVEN_CALLS) * of * UNEVEN_FACTOR)
      this.#othersUntilMs = nowMs + OTHERS_FOR_MS;
    if (ticket < this.#stop.ticket) return;
    const besideOthers = nowMs < this.#othersUntilMs;
    const stopBelow = besideOthers
      ? Math.min(this.#maxRemaining * NEARLY_USED_UP_SHARE, 2 * of * (this.#log.inFlight + 1))
      : this.#log.inFlight;
    const resetInMs = resetIsSure ? (resetMs ?? 0) : 0;
    // The service never has more than one permit, and it returns before this part needs another.
    const isTiny = this.#maxRemaining === 0 && resetInMs <= MINUTE_MS / this.rpm + WHOLE_SECOND_MS;
    const stopMs = remaining > stopBelow || isTiny ? -Infinity : Math.max(resetInMs, besideOthers ? MIN_STOP_MS : 0);
    this.#stop = { untilMs: nowMs + stopMs, ticket };
  }

  #newPace(): PlanPace {
    return new PlanPace(this.rpm, this.#log, this.#latencies);
  }
}
