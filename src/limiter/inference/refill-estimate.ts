/**
 * A lower bound on refilled permits: the minimum over the limiter algorithms that the observations still allow.
 * Pure: time is passed in.
 */
import type { CallLog } from '../call-log.ts';
import type { AlgorithmInference } from './algorithm-inference.ts';
import type { Latencies } from './latencies.ts';
import type { SmallBucket } from './small-bucket.ts';
import { MINUTE_MS, type Observation, type QuotaObservations } from './quota-observations.ts';

interface RefillEstimate {
  /** Permits, minus the calls in flight. */
  readonly permits: number;
  /** When the needed permits may be there; Infinity: when the next answer comes. */
  readonly atMs: number;
}

/** Floating-point noise must not turn a whole permit into 0.999. */
const EPSILON = 1e-6;
/** Beside other clients, a bucket is asked again after it has gained this share of its capacity, or its gain in this time. */
const ASK_AT_CAPACITY_SHARE = 8;
const ASK_AFTER_MS = 2_000;
/** Up to this spread of latencies, answers are exact enough to lose less than 1 % of a sliding window. */
const NARROW_SPREAD_MS = 360;
/** A call hangs when it takes longer than this factor of the slowest call plus this time. */
const HANGS_AFTER_FACTOR = 2;
const HANGS_AFTER_MS = 1_000;
const NOTHING: RefillEstimate = { permits: 0, atMs: Infinity };

export interface Observed {
  readonly log: CallLog;
  readonly latencies: Latencies;
  readonly observations: QuotaObservations;
  readonly inference: AlgorithmInference;
  readonly smallBucket: SmallBucket;
}

/**
 * Calls whose answers are worth waiting for. A call that takes much longer than any other hangs: it counts as spent, but nothing waits for
 * it.
 */
export function awaitedCalls({ log, latencies }: Observed, nowMs: number): number {
  return log.inFlight === 0 ? 0 : log.inFlightSince(nowMs - hangsAfterMs(latencies));
}

/** When the last of the awaited calls counts as hanging. */
export function awaitedUntilMs({ log, latencies }: Observed): number {
  return (log.sentAt(log.last) ?? -Infinity) + hangsAfterMs(latencies);
}

function hangsAfterMs({ maxMs }: Latencies): number {
  return HANGS_AFTER_FACTOR * maxMs + HANGS_AFTER_MS;
}

/** @param needed the number of permits that the caller waits for */
export function estimateRefill(observed: Observed, nowMs: number, needed: number): RefillEstimate {
  const { inference, observations, log } = observed;
  if (inference.rate === null || observations.latest === undefined) return NOTHING;
  const taken = log.inFlight + observations.lostCalls;
  const askAtPermits =
    inference.hasOtherClients(nowMs) && (inference.bucket || inference.smallBucket) ? permitsBeforeAsking(observed, needed) : 0;
  if (askAtPermits > 0) {
    if (awaitedCalls(observed, nowMs) + observations.lostCalls > 0) return NOTHING;
    const refill = estimateOfAll(observed, nowMs, askAtPermits, taken);
    return refill.permits >= Math.floor(askAtPermits) ? { permits: needed, atMs: nowMs } : { permits: 0, atMs: refill.atMs };
  }
  const refill = estimateOfAll(observed, nowMs, needed, taken);
  if (!isStale(observed, nowMs) || refill.permits < 1) return refill;
  // Other clients may have taken the refill since: one call asks.
  return awaitedCalls(observed, nowMs) + observations.lostCalls === 0 ? { permits: needed, atMs: nowMs } : NOTHING;
}

/**
 * The permits that a bucket should have gained before one call asks for them, beside other clients. A bucket keeps its permits, so the
 * later call loses nothing and hardly meets an empty bucket. 0: the bucket would overflow before the answer.
 */
function permitsBeforeAsking({ inference: { capacity, perMs, trust }, latencies }: Observed, needed: number): number {
  const least = needed + 1;
  const permits = Math.max(least, trust.backoff * Math.min(capacity / ASK_AT_CAPACITY_SHARE, Math.max(least, perMs * ASK_AFTER_MS)));
  const room = capacity - perMs * latencies.maxMs;
  return room >= least ? Math.min(permits, room) : 0;
}

/** Whether another client may use the key while the last answer is older than a call in flight. */
function isStale({ observations, inference, latencies }: Observed, nowMs: number): boolean {
  const { answeredMs, throttled } = observations.latest as Observation;
  return (throttled || inference.hasOtherClients(nowMs)) && nowMs - answeredMs > latencies.maxMs + 1 / inference.perMs;
}

function estimateOfAll(observed: Observed, nowMs: number, needed: number, taken: number): RefillEstimate {
  const { inference } = observed;
  if (inference.smallBucket) return estimateOfSmallBucket(observed, nowMs, needed, taken);
  if (inference.otherWindow) return NOTHING;
  const windows = inference.fixedWindow || inference.slidingWindow ? leftInWindows(observed, nowMs, taken) : null;
  const bucket = inference.bucket ? Math.min(leftInBucket(observed, nowMs), inference.capacity) - taken : null;
  if (windows === null && bucket === null) return NOTHING;
  const bucketMs =
    bucket === null || bucket + EPSILON >= needed
      ? nowMs
      : needed <= inference.capacity - taken
        ? nowMs + (needed - bucket) / inference.perMs
        : Infinity;
  const windowsMs = windows === null || windows >= needed ? nowMs : nextExpiryMs(observed, nowMs);
  return { permits: Math.floor(Math.min((bucket ?? Infinity) + EPSILON, windows ?? Infinity)), atMs: Math.max(bucketMs, windowsMs) };
}

/** Permits left in fixed and sliding windows. */
function leftInWindows({ log, latencies, observations, inference }: Observed, nowMs: number, taken: number): number {
  // A call has left the window when it was decided more than a minute before the next one can be.
  const outMs = nowMs - MINUTE_MS + latencies.leastMs;
  // Without other clients, a sliding window holds our calls of the last minute and nothing else. A fixed window does not show other
  // clients.
  let own =
    inference.hasOtherClients(nowMs) || !inference.slidingWindow || (!inference.fixedWindow && latencies.spreadMs < NARROW_SPREAD_MS)
      ? -Infinity
      : (inference.rate as number) - log.unansweredAt(outMs) - observations.lostCalls;
  let least = Infinity;
  let most = -Infinity;
  for (const answer of observations.all) {
    const { remaining, answeredMs, sentMs } = answer;
    // A fixed window dropped these calls at its start, so they refill nothing now.
    const refill = inference.fixedWindow ? 0 : inference.countedWithin(answeredMs - latencies.leastMs - MINUTE_MS, outMs);
    least = Math.min(least, remaining + refill);
    if (!inference.hasOtherClients(nowMs))
      most = Math.max(most, remaining + refill - observations.callsAfter(answer) - observations.lostCalls);
    // An upper bound for a client that has just come to the key: the stated permits and everything that can have expired since.
    own = Math.min(own, remaining + log.unansweredAt(sentMs + latencies.leastMs - MINUTE_MS) - log.unansweredAt(outMs) - taken);
  }
  return Math.max(own, least - taken, most);
}

/** When a sliding window drops the next of our calls. */
function nextExpiryMs({ log, latencies }: Observed, nowMs: number): number {
  return log.firstAnsweredAfter(nowMs - MINUTE_MS + latencies.leastMs) + MINUTE_MS - latencies.leastMs;
}

/** Permits in a bucket, without regard to calls in flight. */
function leftInBucket({ latencies, observations, inference }: Observed, nowMs: number): number {
  let least = Infinity;
  for (const { remaining, answeredMs } of observations.all)
    least = Math.min(least, remaining + inference.perMs * (nowMs - answeredMs + latencies.leastMs));
  return least;
}

function estimateOfSmallBucket(observed: Observed, nowMs: number, needed: number, taken: number): RefillEstimate {
  const { inference, smallBucket } = observed;
  const bucket = leftInBucket(observed, nowMs);
  const kept = smallBucket.permits(nowMs);
  // With nothing in flight, the last answer states the bucket, whatever the order of the earlier answers.
  const permits = (taken === 0 ? Math.min(bucket, inference.capacity) : Math.min(bucket - taken, kept)) + EPSILON;
  const speed = taken === 0 ? inference.perMs : Math.min(inference.perMs, smallBucket.perMs);
  return { permits: Math.floor(permits), atMs: permits < needed ? nowMs + (needed - permits) / speed : nowMs };
}
