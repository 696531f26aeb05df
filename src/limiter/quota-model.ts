/**
 * Decides how many calls may start now, from the quota that the service's answers state. Pure: time is passed in.
 *
 * An observation says how many permits were left when the service decided on that call. Calls sent since, and calls in flight then, may
 * have used some. The rest may be sent at once, under any limiter algorithm.
 *
 * When nothing is left, permits come back by rules that the service does not state: all at once in a fixed window, call by call in a
 * sliding window, evenly in a token bucket. The model uses a lower bound over the algorithms that the observations still allow
 * (`refill-estimate`, `algorithm-inference`). After the stated reset, one call probes the quota.
 */
import { CallLog } from './call-log.ts';
import { awaitedCalls, awaitedUntilMs, estimateRefill, type Observed } from './refill-estimate.ts';
import { AlgorithmInference } from './algorithm-inference.ts';
import { Latencies } from './latencies.ts';
import { ProbeReserve } from './probe-reserve.ts';
import { PlanPace } from './plan-pace.ts';
import { PlanSurplus } from './plan-surplus.ts';
import { isConsistent, type RateReading } from './rate-reading.ts';
import { RefusalJitter } from './refusal-jitter.ts';
import type { RecentSlots } from './recent-slots.ts';
import { SmallBucket } from './small-bucket.ts';
import { MINUTE_MS, QuotaObservations, type Observation } from './quota-observations.ts';
import type { Wait } from '../util/waits.ts';

/** Calls are dropped when they are older than a window by this. */
const MAX_LAG_MS = 30_000;
/** After this many answers without quota headers, the service no longer states its quota. */
const SILENT_AFTER_ANSWERS = 3;
/** The shortest time until the model is asked again: a shorter one could round to now and repeat for ever. */
const MIN_RECHECK_MS = 0.25;
/**
 * No limiter allows more within a minute: a full bucket and its refill, or two windows at their edge. Headers that state more are not
 * believed.
 */
const MAX_MINUTES_AT_ONCE = 2;
export class QuotaModel {
  readonly #rpm: number | null;
  readonly #observed: Observed;
  readonly #probeReserve: ProbeReserve;
  readonly #pace: PlanPace | null;
  #answers = 0;
  #answersWithoutHeaders = 0;
  readonly #jitter = new RefusalJitter();
  #nextAt = 0;
  readonly #surplus: PlanSurplus;
  /** When the run before sent its last call, at the latest. */
  #restoredMs = -Infinity;
  /** Whether the permits that `permits` returned last are known, or only estimated. */
  #isKnownPermit = true;
  /** Calls in flight whose permit is only estimated. */
  readonly #estimated = new Set<number>();

  /** @param options.rpm requests a minute of the plan; null: unlimited */
  constructor(options: { readonly rpm: number | null }) {
    this.#rpm = options.rpm;
    this.#surplus = new PlanSurplus(options.rpm);
    const log = new CallLog();
    const latencies = new Latencies();
    const inference = new AlgorithmInference(options.rpm, log, latencies);
    this.#observed = {
      log,
      latencies,
      inference,
      observations: new QuotaObservations(log, latencies),
      smallBucket: new SmallBucket(inference, latencies),
    };
    this.#probeReserve = new ProbeReserve(this.#observed);
    this.#pace = options.rpm === null ? null : new PlanPace(options.rpm, log, latencies);
  }

  /** When `permits` should be asked again; Infinity: when the next answer comes. */
  get nextAt(): number {
    return this.#nextAt;
  }

  /** Whether headers have stated a quota, so that an unlimited plan needs a gate after all. */
  get limited(): boolean {
    return this.#observed.observations.latest !== undefined;
  }

  /** Milliseconds until the next call by the headers; 0 while an answer in flight may change that. */
  waitMs(nowMs: number): number {
    if (!this.limited || awaitedCalls(this.#observed, nowMs) > 0 || this.permits(nowMs) >= 1) return 0;
    return Math.max(0, this.#nextAt - nowMs);
  }

  /** The reason why calls wait; null when one may start, or when an answer in flight may change it. */
  waiting(nowMs: number): Wait | null {
    if (awaitedCalls(this.#observed, nowMs) > 0 || this.permits(nowMs) >= 1) return null;
    const untilMs = this.#nextAt === Infinity ? null : this.#nextAt;
    if (this.limited && this.#answersWithoutHeaders < SILENT_AFTER_ANSWERS)
      return { reason: 'quota', what: "the quota, which is used up by the service's own headers", untilMs };
    if (nowMs - this.#restoredMs < MINUTE_MS + MAX_LAG_MS)
      return { reason: 'resume', what: 'the end of the minute of which the run before may have spent all', untilMs };
    return { reason: 'quota', what: `the next of ${this.#rpm ?? 0} requests a minute`, untilMs };
  }

  /** Requests that the service offered beyond the plan's rate so far; 0 when it is unknown. */
  beyondPlan(nowMs: number): number {
    const { inference } = this.#observed;
    return inference.otherWindow || this.#restoredMs > -Infinity ? 0 : this.#surplus.requests(nowMs, inference.bucket);
  }

  /** Adds the calls of the run before that the last window may still hold. */
  restore(slots: RecentSlots, nowMs: number): void {
    const held = slots.filter(([endMs, calls]) => calls > 0 && endMs >= nowMs - MINUTE_MS - MAX_LAG_MS);
    this.#restoredMs = slots.findLast(([, calls]) => calls > 0)?.[0] ?? -Infinity;
    this.#observed.log.restore(held);
  }

  /** Adds earlier calls one by one. @param calls.counted whether the service has counted it for certain */
  resume(calls: readonly { readonly sentMs: number; readonly answeredMs: number; readonly counted: boolean }[]): void {
    const { log, inference } = this.#observed;
    const moments = calls.flatMap((call) => [
      { call, atMs: call.sentMs, sent: true },
      { call, atMs: call.answeredMs, sent: false },
    ]);
    const tickets = new Map<unknown, number>();
    for (const { call, atMs, sent } of moments.sort((one, other) => one.atMs - other.atMs)) {
      if (sent) tickets.set(call, log.sent(atMs, atMs - MINUTE_MS - 2 * MAX_LAG_MS));
      else if (call.counted) log.answered(tickets.get(call) as number, atMs);
      else inference.uncounted(log.answered(tickets.get(call) as number, atMs), atMs);
    }
  }

  /** Calls sent within the last minute. */
  spent(nowMs: number): number {
    return this.#observed.log.sentAfter(nowMs - MINUTE_MS);
  }

  /** Calls of the last minute, for the next run. */
  recent(nowMs: number): RecentSlots {
    return this.#observed.log.recent(nowMs, MINUTE_MS);
  }

  /** A call starts; returns its ticket. */
  sent(nowMs: number): number {
    const { log, inference, smallBucket } = this.#observed;
    this.#pace?.sent(nowMs);
    if (inference.smallBucket) smallBucket.sent(nowMs);
    // Without a quota, only the calls in flight matter: there may be ten thousand a second.
    const ticket =
      this.#rpm === null && !this.limited
        ? log.sent(nowMs, nowMs - MAX_LAG_MS, nowMs)
        : log.sent(nowMs, nowMs - MINUTE_MS - 2 * MAX_LAG_MS);
    if (!this.#isKnownPermit) this.#estimated.add(ticket);
    return ticket;
  }

  /**
   * Takes the answer to a call, or its failure.
   * @param reading null without an answer, or when it does not state the quota
   * @param waitMs the wait that a throttled answer asks for
   * @param failed the call brought no answer of the service: its duration is no latency, and its missing headers mean nothing
   * @param ownMs the duration of the call itself, where another pod reports it
   */
  answered(
    ticket: number,
    nowMs: number,
    reading: RateReading | null,
    throttled = false,
    waitMs: number | null = null,
    failed = false,
    ownMs?: number,
  ): void {
    const { log, latencies, observations, inference, smallBucket } = this.#observed;
    const sentMs = log.answered(ticket, nowMs);
    const isEstimated = this.#estimated.delete(ticket);
    this.#answers++;
    if (!failed || reading !== null) latencies.add(nowMs - sentMs, nowMs, ownMs);
    if (reading === null || !isConsistent(reading)) {
      if (!failed) this.#answersWithoutHeaders++;
      if (this.limited && this.#answersWithoutHeaders < SILENT_AFTER_ANSWERS) {
        observations.lose(nowMs);
        inference.uncounted(sentMs, nowMs);
      }
      if (throttled) this.#pace?.throttled(nowMs);
      return;
    }
    this.#answersWithoutHeaders = 0;
    if (reading.unlimited) {
      observations.forget();
      return;
    }
    const observation = this.#toObservation(ticket, sentMs, nowMs, reading, throttled, waitMs);
    if (throttled) {
      if (!isEstimated && this.#answers > 1) inference.takenByOthers(nowMs);
      inference.refused(observation, isEstimated);
      smallBucket.sent(nowMs, Infinity);
    } else {
      const before = observations.latest;
      const alone = before !== undefined && ticket === before.ticket + 1 && log.inFlight === 0 && sentMs >= before.answeredMs;
      if (alone) this.#probeReserve.answered(observation, before);
      const wasSmall = inference.smallBucket;
      inference.answered(observation, reading.limit, before, isEstimated, alone);
      if (inference.smallBucket && !wasSmall) smallBucket.sent(nowMs, Infinity);
    }
    this.#surplus.observe(observation);
    observations.add(observation);
  }

  /** A granted call was not sent. */
  withdrawn(ticket: number, nowMs: number): void {
    const { log, inference } = this.#observed;
    inference.uncounted(log.answered(ticket, nowMs), nowMs);
    this.#estimated.delete(ticket);
  }

  /** How many calls may start now. */
  permits(nowMs: number): number {
    const { log, observations, inference } = this.#observed;
    this.#isKnownPermit = true;
    if (!this.limited && this.#rpm === null) return Infinity;
    // The first call goes alone: its answer states the quota for the next ones.
    if (this.#answers === 0) return log.inFlight === 0 ? 1 : this.#recheckAt(Infinity, nowMs);
    if (!this.limited) return this.#permitsByPlan(nowMs);
    if (this.#answersWithoutHeaders >= SILENT_AFTER_ANSWERS) {
      // The last statement holds until its reset, if that is near.
      const last = observations.knownPermits(nowMs, inference.hasOtherClients(nowMs));
      const untilMs = Math.min(observations.untilMs, (observations.latest?.answeredMs ?? 0) + MINUTE_MS);
      return last !== null && last < 1 && untilMs > nowMs ? this.#recheckAt(untilMs, nowMs) : this.#permitsByPlan(nowMs);
    }
    const idle = awaitedCalls(this.#observed, nowMs) === 0;
    let most = Infinity;
    if (this.#rpm !== null) {
      most = this.#rpm * (inference.planBinds ? 1 : MAX_MINUTES_AT_ONCE) - log.sentAfter(nowMs - MINUTE_MS);
      if (most <= 0) return this.#recheckAt(log.firstSentAfter(nowMs - MINUTE_MS) + MINUTE_MS, nowMs);
    }
    const refusalUntilMs = observations.refusalUntilMs;
    if (refusalUntilMs <= nowMs) {
      this.#isKnownPermit = false;
      return idle ? 1 : this.#recheckAt(Infinity, nowMs);
    }
    const known = observations.knownPermits(nowMs, inference.hasOtherClients(nowMs));
    const reservedProbes = this.#probeReserve.reserved();
    const free = known === null ? 0 : known - reservedProbes;
    if (free >= 1) {
      const reserved = inference.reservedForOthers(nowMs);
      if (free > reserved) return Math.min(most, free - reserved);
      if (idle) return 1;
    }
    const probeMs = known !== null && known >= 1 ? this.#probeReserve.nextMs(nowMs) : Infinity;
    if (probeMs <= nowMs) return 1;
    this.#isKnownPermit = false;
    const reservedOfRefill = this.#probeReserve.reservedOfRefill();
    const refill = estimateRefill(this.#observed, nowMs, 1 + reservedOfRefill);
    const trusted = inference.trust.calls - (idle ? 0 : this.#estimated.size);
    if (refill.permits > reservedOfRefill)
      return trusted > 0 ? Math.min(most, refill.permits - reservedOfRefill, trusted) : this.#recheckAt(Infinity, nowMs);
    // The stated reset is over: one call probes the quota.
    if (known === null && idle) return this.#answersWithoutHeaders > 0 && this.#pace !== null ? this.#permitsByPlan(nowMs) : 1;
    // A refusal holds for the wait that it asks for, whatever the answers before it have stated.
    const { latest } = observations;
    const statedUntilMs = latest?.throttled === true ? latest.untilMs : observations.untilMs;
    return this.#recheckAt(Math.min(probeMs, idle ? statedUntilMs : Infinity, refill.atMs, refusalUntilMs), nowMs);
  }

  /** The state of the model, for the message of a test. */
  explain(nowMs: number): string {
    const { log, observations, inference, latencies } = this.#observed;
    const { fixedWindow, slidingWindow, bucket, smallBucket, capacity, trust } = inference;
    const hasOtherClients = inference.hasOtherClients(nowMs);
    return JSON.stringify({
      known: observations.knownPermits(nowMs, hasOtherClients),
      inFlight: log.inFlight,
      refill: estimateRefill(this.#observed, nowMs, 1),
      inference: { fixedWindow, slidingWindow, bucket, smallBucket, hasOtherClients, capacity },
      latencies: [latencies.leastMs, latencies.maxMs],
      trust: trust.calls,
      latest: observations.latest,
      observations: observations.all.length,
    });
  }

  #recheckAt(atMs: number, nowMs: number): number {
    const { log } = this.#observed;
    const givenUpMs = log.inFlight > 0 ? awaitedUntilMs(this.#observed) : -Infinity;
    this.#nextAt = Math.max(Math.min(atMs, givenUpMs > nowMs ? givenUpMs : Infinity), nowMs + MIN_RECHECK_MS);
    return 0;
  }

  #permitsByPlan(nowMs: number): number {
    const pace = this.#pace?.permits(nowMs);
    if (pace === undefined) return Infinity;
    return pace.permits > 0 ? pace.permits : this.#recheckAt(pace.atMs, nowMs);
  }

  #toObservation(
    ticket: number,
    sentMs: number,
    nowMs: number,
    reading: RateReading,
    throttled: boolean,
    waitMs: number | null,
  ): Observation {
    const statedMs = reading.resetMs === null ? MINUTE_MS : reading.resetMs + reading.resetSlackMs;
    return {
      ticket,
      sentMs,
      answeredMs: nowMs,
      throttled,
      remaining: throttled ? 0 : (reading.remaining as number),
      notBeforeMs:
        throttled || reading.resetMs === null || !reading.resetIsSure ? -Infinity : sentMs + reading.resetMs - reading.resetSlackMs,
      untilMs: nowMs + (throttled && waitMs !== null ? waitMs + this.#jitter.nextMs(this.#observed.inference.perMs) : statedMs),
    };
  }
}
