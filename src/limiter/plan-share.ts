/**
 * A part of a plan for one of several who use it at once and do not hear of each other: evenly, and never more than that part
 * within a minute. What the headers say is left is left for all of them, who would meet over it; so it is not gone by, until
 * nothing is: then somebody else is on the key, and nothing is sent until the stated reset.
 * Together they hold to the plan before every limiter that lets a few calls follow each other closely. Pure: time is passed in.
 */
import { CallLog } from './call-log.ts';
import { Latencies } from './latencies.ts';
import { PlanPace } from './plan-pace.ts';
import type { RateReading } from './rate-headers.ts';
import { MINUTE_MS } from './told-answers.ts';
import type { Wait } from '../waits.ts';

/** Nothing that was sent longer ago matters: a window, and what latencies may add to it. */
const KEPT_MS = 2 * MINUTE_MS;

/** A time to look again is never nearer than this: one that rounds to now would be looked at for ever. */
const SHORTEST_LOOK_MS = 0.25;

/** A stated limit below the plan may be the size of a bucket, which one that keeps to the plan never empties so far. */
const EMPTIED_TO = 0.25;

/** Parts are not used quite alike: so much more than this one's, and so many calls of each more, is nobody else's. */
const UNLIKE = 1.1;
const UNLIKE_CALLS = 2;
/** How long somebody else who was noticed is reckoned with. */
const OTHERS_FOR_MS = 10 * MINUTE_MS;
/** Beside others nothing is sent any more when little is left, of what was seen to be left at most: they may take it first. */
const NEAR = 0.25;
/** And for so long, where what comes back comes one by one, so that some is there for all who wait. */
const LEAST_HOLD_MS = 2_000;
/** Resets are stated in whole seconds. */
const WHOLE_SECOND_MS = 1_000;

/** A third of 1,200 are 400, not 399. */
const EPSILON = 1e-6;

/** Requests a minute that a part of a plan has, one at least. */
export function callsOfPart(rpm: number, part: number): number {
  return Math.max(1, Math.floor(rpm * part + EPSILON));
}

export class PlanShare {
  readonly #part: number;
  readonly #log = new CallLog();
  readonly #latencies = new Latencies();
  #rpm: number;
  #pace: PlanPace;
  #nextAt = Infinity;
  /** Somebody else is, or was a while ago, on the key. */
  #othersUntilMs = -Infinity;
  /** The most permits that were seen to be left. */
  #most = 0;
  /** Nothing is sent before: by the answer to the call of this ticket. */
  #held = { untilMs: -Infinity, ticket: 0 };

  /** @param options.rpm requests a minute of the whole plan @param options.part of it, 0 < part <= 1 */
  constructor({ rpm, part }: { readonly rpm: number; readonly part: number }) {
    this.#part = part;
    this.#rpm = rpm;
    this.#pace = this.#newPace();
  }

  /** Requests a minute. */
  get rpm(): number {
    return callsOfPart(this.#rpm, this.#part);
  }

  readonly limited = true;

  /** When `permits` should be asked again, as it found out last. */
  get nextAt(): number {
    return this.#nextAt;
  }

  /** Calls within the last minute that were sent up to so long ago. */
  restore(calls: number, agoMs: number, nowMs: number): void {
    this.#log.restore(calls, nowMs - agoMs);
  }

  spent(nowMs: number): number {
    return this.#log.sentAfter(nowMs - MINUTE_MS);
  }

  /** How long nothing may start. */
  waitMs(nowMs: number): number {
    return this.permits(nowMs) >= 1 ? 0 : Math.max(0, this.#nextAt - nowMs);
  }

  /** What calls wait for; null: one may start. */
  waiting(nowMs: number): Wait | null {
    const waitMs = this.waitMs(nowMs);
    if (waitMs <= 0) return null;
    const what = nowMs < this.#held.untilMs ? "the quota, which is used up by the service's own headers" : `the next of ${this.rpm} requests a minute, this run's part of the plan`;
    return { reason: 'quota', what, untilMs: nowMs + waitMs };
  }

  /** How many calls may start now. */
  permits(nowMs: number): number {
    const { permits, atMs } = nowMs < this.#held.untilMs ? { permits: 0, atMs: this.#held.untilMs } : this.#pace.permits(nowMs);
    this.#nextAt = permits > 0 ? nowMs : Math.max(atMs, nowMs + SHORTEST_LOOK_MS);
    return permits;
  }

  /** A call starts; returns its ticket. */
  sent(nowMs: number): number {
    this.#pace.sent(nowMs);
    return this.#log.sent(nowMs, nowMs - KEPT_MS);
  }

  /** The answer to a call, or its failure. @param itselfMs how long the call itself took, where others have told of it */
  answered(ticket: number, nowMs: number, reading: RateReading | null, throttled = false, _waitMs: number | null = null, failed = false, itselfMs?: number): void {
    const sentMs = this.#log.answered(ticket, nowMs);
    if (!failed) this.#latencies.add(nowMs - sentMs, nowMs, itselfMs);
    if (throttled) this.#pace.throttled(nowMs);
    if (reading !== null && !reading.unlimited) this.#heed(reading, ticket, nowMs, throttled);
  }

  /** A call that was to start has surely not been sent. */
  withdrawn(ticket: number, nowMs: number): void {
    this.#log.answered(ticket, nowMs);
  }

  /** For a test's message. */
  explain(nowMs: number): string {
    return `a part of ${this.rpm} a minute, ${this.spent(nowMs)} spent`;
  }

  #heed({ limit, remaining, resetMs, resetIsSure }: RateReading, ticket: number, nowMs: number, throttled: boolean): void {
    if (limit !== null && limit < this.#rpm && (throttled || (remaining ?? limit) < EMPTIED_TO * limit)) {
      // The service permits less than the plan was said to be: then it is a part of that.
      this.#rpm = limit;
      this.#pace = this.#newPace();
    }
    if (remaining === null) return;
    this.#most = Math.max(this.#most, remaining);
    // Those who have the other parts are held to be like this one; what is gone besides, somebody else has.
    const of = 1 / this.#part;
    if (throttled || this.#most - remaining > (this.spent(nowMs) + this.#log.inFlight + UNLIKE_CALLS) * of * UNLIKE) this.#othersUntilMs = nowMs + OTHERS_FOR_MS;
    if (ticket < this.#held.ticket) return;
    const besideOthers = nowMs < this.#othersUntilMs;
    const near = besideOthers ? Math.min(this.#most * NEAR, 2 * of * (this.#log.inFlight + 1)) : this.#log.inFlight;
    const resetInMs = resetIsSure ? (resetMs ?? 0) : 0;
    // One permit is all that it ever has, and that comes back before this part wants another.
    const isTiny = this.#most === 0 && resetInMs <= MINUTE_MS / this.rpm + WHOLE_SECOND_MS;
    const heldMs = remaining > near || isTiny ? -Infinity : Math.max(resetInMs, besideOthers ? LEAST_HOLD_MS : 0);
    this.#held = { untilMs: nowMs + heldMs, ticket };
  }

  #newPace(): PlanPace {
    return new PlanPace(this.rpm, this.#log, this.#latencies);
  }
}
