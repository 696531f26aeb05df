/**
 * How many permits must have come back by now under every kind of limiter that is still possible. Pure: time is passed in.
 */
import type { CallLog } from './call-log.ts';
import type { Evidence } from './evidence.ts';
import type { Latencies } from './latencies.ts';
import type { SmallBucket } from './small-bucket.ts';
import { MINUTE_MS, type Told, type ToldAnswers } from './told-answers.ts';

export interface Comeback {
  /** Permits, less what is in flight. */
  readonly permits: number;
  /** When there may be as many as were asked for; Infinity: when the next answer comes. */
  readonly atMs: number;
}

/** Float noise must not turn a whole permit into 0.999. */
const EPSILON = 1e-6;
/** Beside others a bucket is asked again when it may have gained so much of what it holds, or of what it gains in so long. */
const ASK_FOR_SHARE = 8;
const ASK_AFTER_MS = 2_000;
/** Up to this spread of latencies what answers tell is exact enough to lose less than 1 % of a sliding window. */
const NARROW_SPREAD_MS = 360;
/** A call hangs when it takes so many times as long as the slowest, and so long besides. */
const HANGS_AFTER = 2;
const HANGS_AFTER_MS = 1_000;
const NOTHING: Comeback = { permits: 0, atMs: Infinity };

export interface Seen {
  readonly log: CallLog;
  readonly latencies: Latencies;
  readonly told: ToldAnswers;
  readonly evidence: Evidence;
  readonly small: SmallBucket;
}

/**
 * Calls whose answers are worth waiting for: one that takes so much longer than any other did hangs, and may fail only
 * when its patience is over. It counts as spent until then, but nothing waits for it.
 */
export function awaited({ log, latencies }: Seen, nowMs: number): number {
  return log.inFlight === 0 ? 0 : log.inFlightSince(nowMs - hangsAfter(latencies));
}

/** When the last of them is given up. */
export function awaitedUntil({ log, latencies }: Seen): number {
  return (log.sentAt(log.last) ?? -Infinity) + hangsAfter(latencies);
}

function hangsAfter({ maxMs }: Latencies): number {
  return HANGS_AFTER * maxMs + HANGS_AFTER_MS;
}

/** @param needed so many permits are waited for */
export function comeback(seen: Seen, nowMs: number, needed: number): Comeback {
  const { evidence, told, log } = seen;
  if (evidence.rate === null || told.latest === undefined) return NOTHING;
  const gone = log.inFlight + told.lost;
  const patient = evidence.others(nowMs) && (evidence.bucket || evidence.small) ? patience(seen, needed) : 0;
  if (patient > 0) {
    if (awaited(seen, nowMs) + told.lost > 0) return NOTHING;
    const back = ofAll(seen, nowMs, patient, gone);
    return back.permits >= Math.floor(patient) ? { permits: needed, atMs: nowMs } : { permits: 0, atMs: back.atMs };
  }
  const back = ofAll(seen, nowMs, needed, gone);
  if (!isStale(seen, nowMs) || back.permits < 1) return back;
  // What has come back since may have been taken by others: one call asks.
  return awaited(seen, nowMs) + told.lost === 0 ? { permits: needed, atMs: nowMs } : NOTHING;
}

/**
 * A bucket keeps what comes back, so beside others nothing is lost by asking for it a while later, with one call that
 * hardly meets an empty one: when it has gained so many permits. 0: it would overflow before the answer is there.
 */
function patience({ evidence: { capacity, perMs, patience: longer }, latencies }: Seen, needed: number): number {
  const least = needed + 1;
  const permits = Math.max(least, longer * Math.min(capacity / ASK_FOR_SHARE, Math.max(least, perMs * ASK_AFTER_MS)));
  const room = capacity - perMs * latencies.maxMs;
  return room >= least ? Math.min(permits, room) : 0;
}

/** Somebody else may be on the key, and the last answer is older than one that is under way. */
function isStale({ told, evidence, latencies }: Seen, nowMs: number): boolean {
  const { answeredMs, throttled } = told.latest as Told;
  return (throttled || evidence.others(nowMs)) && nowMs - answeredMs > latencies.maxMs + 1 / evidence.perMs;
}

function ofAll(seen: Seen, nowMs: number, needed: number, gone: number): Comeback {
  const { evidence } = seen;
  if (evidence.small) return ofSmall(seen, nowMs, needed, gone);
  if (evidence.otherWindow) return NOTHING;
  const windows = evidence.fixed || evidence.sliding ? ofWindows(seen, nowMs, gone) : null;
  const bucket = evidence.bucket ? Math.min(ofBucket(seen, nowMs), evidence.capacity) - gone : null;
  if (windows === null && bucket === null) return NOTHING;
  const bucketMs = bucket === null || bucket + EPSILON >= needed ? nowMs : needed <= evidence.capacity - gone ? nowMs + (needed - bucket) / evidence.perMs : Infinity;
  const windowsMs = windows === null || windows >= needed ? nowMs : forgottenNext(seen, nowMs);
  return { permits: Math.floor(Math.min((bucket ?? Infinity) + EPSILON, windows ?? Infinity)), atMs: Math.max(bucketMs, windowsMs) };
}

/** What fixed and sliding windows have left. */
function ofWindows({ log, latencies, told, evidence }: Seen, nowMs: number, gone: number): number {
  // A call is out of the window when it was answered so long ago that it was decided more than a minute before the next can be.
  const outMs = nowMs - MINUTE_MS + latencies.leastMs;
  // Nobody else is on the key: then a sliding window holds what we sent within a minute and no more. Beside a fixed one, others go unnoticed.
  let own = evidence.others(nowMs) || !evidence.sliding || (!evidence.fixed && latencies.spreadMs < NARROW_SPREAD_MS) ? -Infinity : (evidence.rate as number) - log.unansweredAt(outMs) - told.lost;
  let least = Infinity;
  let most = -Infinity;
  for (const answer of told.all) {
    const { remaining, answeredMs, sentMs } = answer;
    // A fixed window has forgotten at its beginning what now gets older than a minute: it gives nothing back for that.
    const back = evidence.fixed ? 0 : evidence.countedWithin(answeredMs - latencies.leastMs - MINUTE_MS, outMs);
    least = Math.min(least, remaining + back);
    if (!evidence.others(nowMs)) most = Math.max(most, remaining + back - told.after(answer) - told.lost);
    // No more than what was told and all that can have been forgotten since: somebody may have come to the key just now.
    own = Math.min(own, remaining + log.unansweredAt(sentMs + latencies.leastMs - MINUTE_MS) - log.unansweredAt(outMs) - gone);
  }
  return Math.max(own, least - gone, most);
}

/** When the next of our calls is forgotten by a sliding window. */
function forgottenNext({ log, latencies }: Seen, nowMs: number): number {
  return log.firstAnsweredAfter(nowMs - MINUTE_MS + latencies.leastMs) + MINUTE_MS - latencies.leastMs;
}

/** What a bucket holds, before what is in flight. */
function ofBucket({ latencies, told, evidence }: Seen, nowMs: number): number {
  let least = Infinity;
  for (const { remaining, answeredMs } of told.all) least = Math.min(least, remaining + evidence.perMs * (nowMs - answeredMs + latencies.leastMs));
  return least;
}

function ofSmall(seen: Seen, nowMs: number, needed: number, gone: number): Comeback {
  const { evidence, small } = seen;
  const bucket = ofBucket(seen, nowMs);
  const kept = small.permits(nowMs);
  // With nothing under way the bucket is as the last answer told it, whatever the order of those before.
  const permits = (gone === 0 ? Math.min(bucket, evidence.capacity) : Math.min(bucket - gone, kept)) + EPSILON;
  const speed = gone === 0 ? evidence.perMs : Math.min(evidence.perMs, small.perMs);
  return { permits: Math.floor(permits), atMs: permits < needed ? nowMs + (needed - permits) / speed : nowMs };
}
