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
import type { Wait } from '../../util/waits.ts';
import type { CallLog } from '../call-log.ts';
import { AlgorithmInference } from '../inference/algorithm-inference.ts';
import type { Latencies } from '../inference/latencies.ts';
import { ProbeReserve } from '../inference/probe-reserve.ts';
import { MINUTE_MS, QuotaObservations, type Observation } from '../inference/quota-observations.ts';
import { isConsistent, type RateReading } from '../inference/rate-reading.ts';
import { awaitedCalls, awaitedUntilMs, estimateRefill, type Observed } from '../inference/refill-estimate.ts';
import { RefusalJitter } from '../inference/refusal-jitter.ts';
import { SmallBucket } from '../inference/small-bucket.ts';
import { noPermits, UNLIMITED, type EndedCall, type Permits, type QuotaRule, type UsedUp } from '../quota-rule.ts';
import { PlanPace } from './plan-pace.ts';
import { PlanSurplus } from './plan-surplus.ts';

/** Calls are dropped when they are older than a window by this. */
const MAX_LAG_MS = 30_000;
/** After this many answers without quota headers, the service no longer states its quota. */
const SILENT_AFTER_ANSWERS = 3;
/**
 * No limiter allows more within a minute: a full bucket and its refill, or two windows at their edge. Headers that state more are not
 * believed.
 */
const MAX_MINUTES_AT_ONCE = 2;
/** A permit without which a call would ask whether there is one. */
const PROBE: Permits = { permits: 1, atMs: -Infinity, isKnown: true };

export class QuotaModel implements QuotaRule {
  readonly #rpm: number | null;
  readonly #observed: Observed;
  readonly #probeReserve: ProbeReserve;
  readonly #pace: PlanPace | null;
  readonly #surplus: PlanSurplus;
  readonly #jitter = new RefusalJitter();
  #answers = 0;
  #answersWithoutHeaders = 0;
  /** Calls in flight whose permit is only estimated. */
  readonly #estimated = new Set<number>();

  /** @param rpm requests a minute of the plan; null: unlimited */
  constructor(rpm: number | null, log: CallLog, latencies: Latencies) {
    this.#rpm = rpm;
    this.#surplus = new PlanSurplus(rpm);
    const inference = new AlgorithmInference(rpm, log, latencies);
    this.#observed = {
      log,
      latencies,
      inference,
      observations: new QuotaObservations(log, latencies),
      smallBucket: new SmallBucket(inference, latencies),
    };
    this.#probeReserve = new ProbeReserve(this.#observed);
    this.#pace = rpm === null ? null : new PlanPace(rpm, log, latencies);
  }

  get limited(): boolean {
    return this.#rpm !== null || this.#isStated;
  }

  get keptMs(): number {
    return this.limited ? MINUTE_MS + 2 * MAX_LAG_MS : 0;
  }

  usedUp(nowMs: number): UsedUp | null {
    if (!this.#isStated || awaitedCalls(this.#observed, nowMs) > 0) return null;
    const { permits, atMs } = this.permits(nowMs);
    return permits >= 1 ? null : { what: 'quota', untilMs: atMs };
  }

  waiting(nowMs: number): Wait | null {
    if (awaitedCalls(this.#observed, nowMs) > 0) return null;
    const { permits, atMs } = this.permits(nowMs);
    if (permits >= 1) return null;
    const untilMs = atMs === Infinity ? null : atMs;
    if (this.#isStated && !this.#isSilent)
      return { reason: 'quota', what: "the quota, which is used up by the service's own headers", untilMs };
    if (nowMs - this.#observed.log.restoredMs < MINUTE_MS + MAX_LAG_MS)
      return { reason: 'resume', what: 'the end of the minute of which the run before may have spent all', untilMs };
    return { reason: 'quota', what: `the next of ${this.#rpm ?? 0} requests a minute`, untilMs };
  }

  beyondPlan(nowMs: number): number {
    const { inference, log } = this.#observed;
    return inference.otherWindow || log.restoredMs > -Infinity ? 0 : this.#surplus.requests(nowMs, inference.bucket);
  }

  sent(callNumber: number, nowMs: number, isKnown: boolean): void {
    const { inference, smallBucket } = this.#observed;
    this.#pace?.sent(nowMs);
    if (inference.smallBucket) smallBucket.sent(nowMs);
    if (!isKnown) this.#estimated.add(callNumber);
  }

  answered(call: EndedCall): void {
    const { callNumber, sentMs, nowMs, reading, throttled, failed } = call;
    const isEstimated = this.#estimated.delete(callNumber);
    this.#answers++;
    if (reading === null || !isConsistent(reading)) {
      this.#answeredWithoutHeaders(sentMs, nowMs, failed);
      return;
    }
    this.#answersWithoutHeaders = 0;
    const { observations } = this.#observed;
    if (reading.unlimited) {
      observations.forget();
      return;
    }
    const observation = this.#toObservation(call, reading);
    if (throttled) this.#refused(observation, isEstimated);
    else this.#admitted(observation, reading.limit, isEstimated);
    this.#surplus.observe(observation);
    observations.add(observation);
  }

  withdrawn(callNumber: number, sentMs: number, nowMs: number): void {
    this.#observed.inference.uncounted(sentMs, nowMs);
    this.#estimated.delete(callNumber);
  }

  permits(nowMs: number): Permits {
    if (!this.limited) return UNLIMITED;
    // The first call goes alone: its answer states the quota for the next ones.
    if (this.#answers === 0) return this.#observed.log.inFlight === 0 ? PROBE : this.#askAgain(Infinity, nowMs);
    if (!this.#isStated) return this.#permitsByPlan(nowMs);
    return this.#isSilent ? this.#permitsOfSilent(nowMs) : this.#permitsByHeaders(nowMs);
  }

  /** Whether headers have stated a quota. */
  get #isStated(): boolean {
    return this.#observed.observations.latest !== undefined;
  }

  /** Whether the service no longer states its quota. */
  get #isSilent(): boolean {
    return this.#answersWithoutHeaders >= SILENT_AFTER_ANSWERS;
  }

  /** The last statement of a service that no longer states its quota holds until its reset, if that is near. */
  #permitsOfSilent(nowMs: number): Permits {
    const { observations, inference } = this.#observed;
    const last = observations.knownPermits(nowMs, inference.hasOtherClients(nowMs));
    const untilMs = Math.min(observations.untilMs, (observations.latest?.answeredMs ?? 0) + MINUTE_MS);
    return last !== null && last < 1 && untilMs > nowMs ? this.#askAgain(untilMs, nowMs) : this.#permitsByPlan(nowMs);
  }

  /** The stated permits; else the refill since; else one call that asks, when the time for it has come. */
  #permitsByHeaders(nowMs: number): Permits {
    const { log, observations, inference } = this.#observed;
    const most = this.#mostInAMinute(nowMs);
    if (most <= 0) return this.#askAgain(log.firstSentAfter(nowMs - MINUTE_MS) + MINUTE_MS, nowMs);
    const idle = awaitedCalls(this.#observed, nowMs) === 0;
    if (observations.refusalUntilMs <= nowMs) return idle ? { ...PROBE, isKnown: false } : this.#askAgain(Infinity, nowMs);
    const known = observations.knownPermits(nowMs, inference.hasOtherClients(nowMs));
    const stated = this.#statedPermits(known, idle, nowMs);
    if (stated > 0) return { permits: Math.min(most, stated), atMs: nowMs, isKnown: true };
    const probeMs = known !== null && known >= 1 ? this.#probeReserve.nextMs(nowMs) : Infinity;
    if (probeMs <= nowMs) return PROBE;
    const reserved = this.#probeReserve.reservedOfRefill();
    const refill = estimateRefill(this.#observed, nowMs, 1 + reserved);
    if (refill.permits > reserved) return this.#refilled(Math.min(most, refill.permits - reserved), idle, nowMs);
    // The stated reset is over: one call probes the quota.
    if (known === null && idle)
      return this.#answersWithoutHeaders > 0 && this.#pace !== null ? this.#permitsByPlan(nowMs) : { ...PROBE, isKnown: false };
    return this.#askAgain(Math.min(probeMs, idle ? this.#statedUntilMs : Infinity, refill.atMs, observations.refusalUntilMs), nowMs);
  }

  /** Requests that any limiter of the plan may still permit within the minute. */
  #mostInAMinute(nowMs: number): number {
    const { log, inference } = this.#observed;
    if (this.#rpm === null) return Infinity;
    return this.#rpm * (inference.planBinds ? 1 : MAX_MINUTES_AT_ONCE) - log.sentAfter(nowMs - MINUTE_MS);
  }

  /** Stated permits, without those that are reserved. @param known permits less the calls in flight; null without a statement */
  #statedPermits(known: number | null, idle: boolean, nowMs: number): number {
    const free = known === null ? 0 : known - this.#probeReserve.reserved();
    if (free < 1) return 0;
    const forOthers = this.#observed.inference.reservedForOthers(nowMs);
    return free > forOthers ? free - forOthers : idle ? 1 : 0;
  }

  /** Estimated permits, as far as estimates are trusted. */
  #refilled(permits: number, idle: boolean, nowMs: number): Permits {
    const trusted = this.#observed.inference.trust.calls - (idle ? 0 : this.#estimated.size);
    return trusted > 0 ? { permits: Math.min(permits, trusted), atMs: nowMs, isKnown: false } : this.#askAgain(Infinity, nowMs);
  }

  /** A refusal holds for the wait that it asks for, whatever the answers before it have stated. */
  get #statedUntilMs(): number {
    const { latest, untilMs } = this.#observed.observations;
    return latest?.throttled === true ? latest.untilMs : untilMs;
  }

  #askAgain(atMs: number, nowMs: number): Permits {
    const givenUpMs = this.#observed.log.inFlight > 0 ? awaitedUntilMs(this.#observed) : -Infinity;
    return noPermits(Math.min(atMs, givenUpMs > nowMs ? givenUpMs : Infinity), nowMs);
  }

  #permitsByPlan(nowMs: number): Permits {
    if (this.#pace === null) return UNLIMITED;
    const { permits, atMs } = this.#pace.permits(nowMs);
    return permits > 0 ? { permits, atMs, isKnown: true } : this.#askAgain(atMs, nowMs);
  }

  #answeredWithoutHeaders(sentMs: number, nowMs: number, failed: boolean): void {
    if (!failed) this.#answersWithoutHeaders++;
    if (!this.#isStated || this.#isSilent) return;
    this.#observed.observations.lose(nowMs);
    this.#observed.inference.uncounted(sentMs, nowMs);
  }

  #refused(observation: Observation, isEstimated: boolean): void {
    const { inference, smallBucket } = this.#observed;
    if (!isEstimated && this.#answers > 1) inference.takenByOthers(observation.answeredMs);
    inference.refused(observation, isEstimated);
    smallBucket.sent(observation.answeredMs, Infinity);
  }

  #admitted(observation: Observation, limit: number | null, isEstimated: boolean): void {
    const { log, observations, inference, smallBucket } = this.#observed;
    const before = observations.latest;
    const alone =
      before !== undefined &&
      observation.callNumber === before.callNumber + 1 &&
      log.inFlight === 0 &&
      observation.sentMs >= before.answeredMs;
    if (alone) this.#probeReserve.answered(observation, before);
    const wasSmall = inference.smallBucket;
    inference.answered(observation, limit, before, isEstimated, alone);
    if (inference.smallBucket && !wasSmall) smallBucket.sent(observation.answeredMs, Infinity);
  }

  #toObservation({ callNumber, sentMs, nowMs, throttled, waitMs }: EndedCall, reading: RateReading): Observation {
    const statedMs = reading.resetMs === null ? MINUTE_MS : reading.resetMs + reading.resetSlackMs;
    return {
      callNumber,
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
