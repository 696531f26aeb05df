/**
 * A part of a plan for one of several who use it at once and do not hear of each other: evenly, and never more than that part
 * within a minute. What the headers say is left is left for all of them, who would meet over it; so it is not gone by.
 * Together they hold to the plan before every limiter that lets a few calls follow each other closely. Pure: time is passed in.
 */
import { CallLog } from './call-log.ts';
import { Latencies } from './latencies.ts';
import { PlanPace } from './plan-pace.ts';
import type { RateReading } from './rate-headers.ts';
import { MINUTE_MS } from './told-answers.ts';

/** Nothing that was sent longer ago matters: a window, and what latencies may add to it. */
const KEPT_MS = 2 * MINUTE_MS;

/** A time to look again is never nearer than this: one that rounds to now would be looked at for ever. */
const SHORTEST_LOOK_MS = 0.25;

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

  /** How many calls may start now. */
  permits(nowMs: number): number {
    const { permits, atMs } = this.#pace.permits(nowMs);
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
    if (!throttled) return;
    const limit = reading?.limit ?? 0;
    if (limit > 0 && limit < this.#rpm) {
      // The service permits less than the plan was said to be: then it is a part of that.
      this.#rpm = limit;
      this.#pace = this.#newPace();
    }
    this.#pace.throttled(nowMs);
  }

  /** A call that was to start has surely not been sent. */
  withdrawn(ticket: number, nowMs: number): void {
    this.#log.answered(ticket, nowMs);
  }

  /** For a test's message. */
  explain(nowMs: number): string {
    return `a part of ${this.rpm} a minute, ${this.spent(nowMs)} spent`;
  }

  #newPace(): PlanPace {
    return new PlanPace(this.rpm, this.#log, this.#latencies);
  }
}
