/**
 * Rules out limiter algorithms by what the service's answers show. Each one stays possible until an observation contradicts it.
 *
 * - A fixed window refills nothing before its stated reset, and states the same reset until then.
 * - A sliding window counts each call for a full minute.
 * - A token bucket gains no more than its rate, and no less while it is not full.
 *
 * Pure: time is passed in.
 */
import type { CallLog } from '../call-log.ts';
import { EstimateTrust } from './estimate-trust.ts';
import type { Latencies } from './latencies.ts';
import { OtherClients } from './other-clients.ts';
import { MINUTE_MS, type Observation } from './quota-observations.ts';

/** Contradictions that rule an algorithm out. One reset in an unknown unit, or one call that was not counted, must not decide. */
const CONTRADICTIONS = 3;
/** Probes without a refill that rule a bucket out. */
const FLAT_PROBES = 2;
/** A probe without a refill counts when a bucket would have gained this many permits. */
export const PROBE_MIN_PERMITS = 2;
/** A service that never holds more than this share of a minute's quota may be a small bucket. */
export const SMALL_SHARE = 0.2;
const RISES_WITHIN_MS = 55_000;
/** Refusals in a row, without an answer between them, after which it is no small bucket. */
const REFUSALS = 3;
/** Uncounted calls matter for as long as a window, plus the delay of calls. */
const UNCOUNTED_TTL_MS = 2 * MINUTE_MS;
/** The newest of them are kept. Each answer compares them all. */
const MOST_UNCOUNTED = 1_000;

/** The share of the expected refill below which a window is doubted; other clients may take some of it. */
const REFILLED_SHARE = 0.5;
const REFILLED_SHARE_BESIDE_OTHERS = 0.25;
/** Permits that rounding to whole numbers can hide, at both ends. */
const ROUNDING_PERMITS = 2;
/** The span over which the gain of a bucket is measured. */
const GAIN_SPAN_MS = 10_000;
/** Estimates stay this much below the rate, because two clocks do not run alike. */
const RATE_FACTOR = 0.999;

interface Uncounted {
  readonly sentMs: number;
  readonly answeredMs: number;
}

export class AlgorithmInference {
  readonly #rpm: number | null;
  readonly #log: CallLog;
  readonly #latencies: Latencies;
  /** Permits of a window, as the service states them; null when it does not. */
  #limit: number | null = null;
  #capacity = 0;
  #aboveRpm = false;
  #earlyRises = 0;
  #movedResets = 0;
  #earlyExpiries = 0;
  #fastRises = 0;
  #flatProbes = 0;
  #rises: readonly number[] = [];
  #isSmallBucket = false;
  #refusals = 0;
  readonly #otherClients = new OtherClients();
  /** Calls that the service may not have counted: they were refused, or their answer is unknown. */
  readonly #uncounted: Uncounted[] = [];
  /** The answer with which the answers of later calls are compared. */
  #anchor: Observation | null = null;
  /** How far the refill estimate, which is built on this inference, may be relied on. */
  readonly trust = new EstimateTrust();
  #slowGains = 0;
  #gainFrom: Observation | null = null;
  /** The first answer that stated the current reset of the window. */
  #statedReset: Observation | null = null;

  /** @param rpm requests a minute of the plan; null: unlimited */
  constructor(rpm: number | null, log: CallLog, latencies: Latencies) {
    this.#rpm = rpm;
    this.#log = log;
    this.#latencies = latencies;
  }

  /** The most permits that the service ever stated. */
  get capacity(): number {
    return this.#capacity;
  }

  /** The highest rate at which permits refill, requests a minute; null when it is unknown. */
  get rate(): number | null {
    // A limit below the observed capacity may be a bucket's size, which does not say its rate.
    if (this.#rpm === null) return this.#limit;
    return this.#limit !== null && this.#limit < this.#rpm && this.#limit > this.#capacity ? this.#limit : this.#rpm;
  }

  /** The rate per millisecond, a little reduced. */
  get perMs(): number {
    return ((this.rate ?? 0) * RATE_FACTOR) / MINUTE_MS;
  }

  /** Whether the plan allows less than the service. The limit may belong to another window, or the user has lowered the rate. */
  get planBinds(): boolean {
    return this.#rpm !== null && (this.#limit === null ? this.#aboveRpm : this.#limit > this.#rpm);
  }

  /** Whether the limit belongs to another window than the minute. */
  get otherWindow(): boolean {
    return this.#limit !== null && this.#rpm !== null && this.#limit !== this.#rpm;
  }

  get fixedWindow(): boolean {
    return this.#earlyRises < CONTRADICTIONS && this.#movedResets < CONTRADICTIONS;
  }

  get slidingWindow(): boolean {
    return this.#earlyExpiries < CONTRADICTIONS;
  }

  get bucket(): boolean {
    return this.#flatProbes < FLAT_PROBES && this.#fastRises < CONTRADICTIONS && this.#slowGains < CONTRADICTIONS;
  }

  /**
   * Whether the service has a bucket so small that it never shows permits. Its sign: permits return repeatedly, sooner than in a window.
   */
  get smallBucket(): boolean {
    return this.#isSmallBucket;
  }

  /** Whether another client uses the key, or did recently. */
  hasOtherClients(nowMs: number): boolean {
    return this.#otherClients.present(nowMs);
  }

  /** Permits that other clients are likely to take while a call is in flight. */
  reservedForOthers(nowMs: number): number {
    return this.#otherClients.expectedToTake(nowMs, this.#latencies.maxMs);
  }

  /** Calls sent after one moment and answered up to another that the service has counted for certain. */
  countedWithin(sentAfterMs: number, answeredUpToMs: number): number {
    let count = this.#log.within(sentAfterMs, answeredUpToMs);
    if (count > 0) for (const { sentMs, answeredMs } of this.#uncounted) if (sentMs > sentAfterMs && answeredMs <= answeredUpToMs) count--;
    return Math.max(0, count);
  }

  /** The service may not have counted this call. */
  uncounted(sentMs: number, answeredMs: number): void {
    const all = this.#uncounted;
    all.push({ sentMs, answeredMs });
    const firstKept = all.findIndex((call) => call.answeredMs > answeredMs - UNCOUNTED_TTL_MS);
    all.splice(0, Math.max(firstKept, all.length - MOST_UNCOUNTED));
  }

  /** A call with a known permit was refused: another client has taken the permit. */
  takenByOthers(nowMs: number): void {
    if (!this.#otherClients.notice(nowMs)) return;
    // Another client may have taken the permits that seemed not to refill.
    this.#flatProbes = 0;
    this.#slowGains = 0;
  }

  /** A call was refused. @param isEstimated whether its permit was only estimated */
  refused(observation: Observation, isEstimated: boolean): void {
    if (isEstimated && this.trust.hasOverestimated) this.takenByOthers(observation.answeredMs);
    this.trust.refuse(isEstimated);
    this.uncounted(observation.sentMs, observation.answeredMs);
    this.#anchor = observation;
    this.#refusals++;
    // Probes may have misled: a bucket is possible again.
    if (!this.hasOtherClients(observation.answeredMs)) this.#flatProbes = 0;
    if (this.#isSmallBucket && this.#refusals < REFUSALS) return;
    this.#isSmallBucket = false;
    this.#rises = [];
  }

  /**
   * A call was answered.
   * @param isEstimated whether its permit was only estimated
   * @param alone whether nothing else was in flight meanwhile
   * @param before the answer before it
   */
  answered(observation: Observation, limit: number | null, before: Observation | undefined, isEstimated: boolean, alone: boolean): void {
    this.#limit = limit;
    this.#refusals = 0;
    this.#capacity = Math.max(this.#capacity, observation.remaining + 1);
    if (this.#rpm !== null && observation.remaining >= this.#rpm) this.#aboveRpm = true;
    if (isEstimated) this.trust.confirm();
    this.#checkAgainstAnchor(observation);
    this.#checkResets(observation);
    this.#checkBucketRefill(observation);
    this.#otherClients.measure(observation);
    if (before !== undefined && alone) this.#checkRefill(observation, before);
    this.#compareSpending(observation);
  }

  /** Compares with an answer that came before this call was sent, so that their order is certain. */
  #checkAgainstAnchor(observation: Observation): void {
    const anchor = this.#anchor;
    if (anchor !== null && observation.sentMs < anchor.answeredMs) return;
    this.#anchor = observation;
    if (anchor === null) return;
    // The call itself took a permit.
    if (observation.remaining >= anchor.remaining && observation.answeredMs < anchor.notBeforeMs) this.#earlyRises++;
    const taken = this.#log.within(anchor.answeredMs, observation.sentMs + this.#latencies.leastMs) + 1;
    const gain = ((this.rate ?? 0) / MINUTE_MS) * (observation.answeredMs - anchor.sentMs - this.#latencies.leastMs) + 2;
    if (observation.remaining + taken - anchor.remaining > gain) this.#fastRises++;
    this.#checkWindowRefill(observation, anchor);
  }

  /** Checks that a window has refilled our calls that left it. If not, its limiter counts in another way. */
  #checkWindowRefill(observation: Observation, anchor: Observation): void {
    const { leastMs } = this.#latencies;
    const refilled = this.countedWithin(anchor.answeredMs - leastMs - MINUTE_MS, observation.sentMs + leastMs - MINUTE_MS);
    if (refilled === 0) return;
    const share = this.hasOtherClients(observation.answeredMs) ? REFILLED_SHARE_BESIDE_OTHERS : REFILLED_SHARE;
    if (observation.remaining + ROUNDING_PERMITS < anchor.remaining + share * refilled - this.#takenBetween(anchor, observation))
      this.trust.doubt();
    else this.trust.prove(refilled);
  }

  /** Checks that a bucket which is not full gains at least its rate. */
  #checkBucketRefill(observation: Observation): void {
    const from = this.#gainFrom;
    if (from !== null && observation.sentMs < from.answeredMs + GAIN_SPAN_MS) return;
    this.#gainFrom = observation;
    if (from === null || this.hasOtherClients(observation.answeredMs)) return;
    const gain = this.perMs * (observation.sentMs - from.answeredMs + this.#latencies.leastMs);
    if (from.remaining + gain >= this.#capacity) return;
    if (observation.remaining + ROUNDING_PERMITS < from.remaining + gain - this.#takenBetween(from, observation)) this.#slowGains++;
  }

  /** The most permits that our own calls can have taken between two answers. */
  #takenBetween(from: Observation, to: Observation): number {
    const { leastMs } = this.#latencies;
    return this.#log.unansweredAt(from.sentMs + leastMs) - this.#log.sentAfter(to.answeredMs - leastMs);
  }

  /** Checks that the stated reset stays the same until it is over, and that the next one is a window later. */
  #checkResets(observation: Observation): void {
    const stated = this.#statedReset;
    if (observation.notBeforeMs === -Infinity) return;
    if (stated === null) {
      this.#statedReset = observation;
      return;
    }
    const over = observation.sentMs > stated.untilMs;
    if (!over && observation.answeredMs >= stated.notBeforeMs) return;
    const least = over ? stated.notBeforeMs + MINUTE_MS : stated.notBeforeMs;
    const most = over ? Infinity : stated.untilMs;
    if (observation.untilMs < least || observation.notBeforeMs > most) this.#movedResets++;
    else if (!over) return;
    this.#statedReset = observation;
  }

  /** Checks whether permits refilled between two answers, with one call between them and nothing else in flight. */
  #checkRefill(observation: Observation, before: Observation): void {
    const rise = observation.remaining + 1 - before.remaining;
    const { spreadMs } = this.#latencies;
    if (rise <= 0) {
      const gained = (observation.sentMs - before.sentMs - spreadMs) * this.perMs;
      if (gained >= PROBE_MIN_PERMITS && !this.hasOtherClients(observation.sentMs)) this.#flatProbes++;
      return;
    }
    const expired =
      this.#log.sentAfter(before.sentMs - MINUTE_MS - spreadMs) - this.#log.sentAfter(observation.sentMs - MINUTE_MS + spreadMs);
    if (expired >= rise) return;
    if (observation.sentMs < before.notBeforeMs) this.#flatProbes = 0;
    this.#rises = [...this.#rises.filter((at) => at > observation.sentMs - RISES_WITHIN_MS), observation.sentMs];
    if (this.#rises.length >= CONTRADICTIONS && this.rate !== null && this.#capacity <= Math.max(1, this.rate * SMALL_SHARE))
      this.#isSmallBucket = true;
  }

  /**
   * Compares the spending that the service states with our own calls. A higher number means another client, a lower one an expired call.
   */
  #compareSpending(observation: Observation): void {
    const limit = this.#limit ?? this.#rpm;
    if (limit === null) return;
    const spent = limit - observation.remaining;
    const { leastMs } = this.#latencies;
    const most = this.#log.unansweredAt(observation.sentMs + leastMs - MINUTE_MS) - this.#log.sentAfter(observation.answeredMs - leastMs);
    if (spent > most) this.takenByOthers(observation.answeredMs);
    if (spent < this.countedWithin(observation.answeredMs - leastMs - MINUTE_MS, observation.sentMs + leastMs)) this.#earlyExpiries++;
  }
}
