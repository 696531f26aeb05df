/**
 * Permits kept back to observe how the quota refills. When nothing is left, only a call that may be refused can show it.
 * Pure: time is passed in.
 */
import { awaitedCalls, type Observed } from './refill-estimate.ts';
import { PROBE_MIN_PERMITS, SMALL_SHARE } from './algorithm-inference.ts';
import { MINUTE_MS, type Observation } from './quota-observations.ts';

/** The reserve, for a service that shows at least this capacity and has no small bucket. */
const RESERVED_PROBES = 2;
const RESERVE_FROM_PERMITS = 10;
/** From this capacity on, the reserve is at most 0.5 % of the quota. */
const RESERVE_IS_CHEAP_FROM = 400;
/** A probe waits until a bucket would have gained this many permits. */
const PROBE_AFTER_PERMITS = 3;
/** After each probe without a refill, the next one waits longer by this factor. */
const PROBE_BACKOFF = 4;
const MAX_BACKOFF_STEPS = 6;
/** The last probe is this long before the stated reset, plus two latencies. */
const LAST_PROBE_MS = 2_000;

export class ProbeReserve {
  readonly #observed: Observed;
  #misses = 0;

  constructor(observed: Observed) {
    this.#observed = observed;
  }

  /** Permits that are reserved for probes. */
  reserved(): number {
    const { inference } = this.#observed;
    if (inference.smallBucket || !inference.bucket) return 0;
    return inference.capacity < Math.max(RESERVE_FROM_PERMITS, (inference.rate ?? 0) * SMALL_SHARE) ? 0 : RESERVED_PROBES;
  }

  /** Permits of a refill that are reserved for probes: where no refill was observed yet, or where the reserve costs next to nothing. */
  reservedOfRefill(): number {
    const { inference } = this.#observed;
    return inference.fixedWindow || inference.capacity >= RESERVE_IS_CHEAP_FROM ? this.reserved() : 0;
  }

  /** When a reserved permit may be used; the last chance is before the stated reset. */
  nextMs(nowMs: number): number {
    const { observations, inference, latencies, log } = this.#observed;
    if (observations.latest === undefined || inference.rate === null) return -Infinity;
    const lastChanceMs = observations.untilMs - 2 * latencies.maxMs - LAST_PROBE_MS;
    const { answeredMs } = observations.latest;
    if (awaitedCalls(this.#observed, nowMs) > 0) return Math.max(lastChanceMs, answeredMs + MINUTE_MS);
    const lastSentMs = log.sentAt(log.last) ?? -Infinity;
    return Math.min(
      Math.max(lastChanceMs, answeredMs),
      lastSentMs + (PROBE_AFTER_PERMITS / inference.perMs) * PROBE_BACKOFF ** this.#misses,
    );
  }

  /** A probe was answered, or a call that went alone as a probe does. @param before the answer before it */
  answered(observation: Observation, before: Observation): void {
    const { inference } = this.#observed;
    if (observation.remaining + 1 > before.remaining) this.#misses = 0;
    // A call that follows at once is no probe, because nothing can have refilled since.
    else if (inference.capacity < RESERVE_IS_CHEAP_FROM || (observation.sentMs - before.answeredMs) * inference.perMs >= PROBE_MIN_PERMITS)
      this.#misses = Math.min(this.#misses + 1, MAX_BACKOFF_STEPS);
  }
}
