/** The quota: one token bucket a key, refilled with `rpm / 60` tokens a second, up to one minute's quota. Pure: time is passed in. */

const MINUTE_MS = 60_000;
/** Tolerance of comparisons: float noise must not turn a whole token into 0.999. */
const EPSILON = 1e-6;

/**
 * A bucket at a time of a monotonic clock, milliseconds. Negative after a crash that lost count of taken tokens, or while work is owed for.
 */
export interface Bucket {
  readonly tokens: number;
  readonly atMs: number;
}

export interface QuotaDecision {
  readonly allowed: boolean;
  readonly limit: number;
  /** Whole tokens left. */
  readonly remaining: number;
  /** Seconds until the bucket is full again without further requests, rounded up. */
  readonly resetS: number;
  /** Seconds until the requested tokens are available, rounded up; 0 when they are. */
  readonly retryAfterS: number;
}

/** A full bucket. */
export function fullBucket(rpm: number, nowMs: number): Bucket {
  return { tokens: rpm, atMs: nowMs };
}

/** The bucket at `nowMs`, refilled. A clock that goes back adds nothing; a lower rpm cuts the level. */
export function refill(bucket: Bucket, rpm: number, nowMs: number): Bucket {
  const elapsed = Math.max(0, nowMs - bucket.atMs);
  return { tokens: Math.min(rpm, bucket.tokens + (elapsed * rpm) / MINUTE_MS), atMs: Math.max(nowMs, bucket.atMs) };
}

/** Takes `count` tokens when the bucket holds them, else none. */
export function take(bucket: Bucket, rpm: number, nowMs: number, count = 1): { bucket: Bucket; decision: QuotaDecision } {
  const filled = refill(bucket, rpm, nowMs);
  const allowed = filled.tokens >= count - EPSILON;
  const after = allowed ? { tokens: Math.max(0, filled.tokens - count), atMs: filled.atMs } : filled;
  return { bucket: after, decision: decisionOf(after, rpm, allowed, count) };
}

/** Takes `count` tokens of work that is done, whether or not the bucket holds them. It may sink below zero. */
export function owe(bucket: Bucket, rpm: number, nowMs: number, count: number): Bucket {
  const filled = refill(bucket, rpm, nowMs);
  return { tokens: filled.tokens - count, atMs: filled.atMs };
}

/** Returns `count` tokens of a refused request. */
export function returnTokens(bucket: Bucket, rpm: number, nowMs: number, count: number): Bucket {
  const filled = refill(bucket, rpm, nowMs);
  return { tokens: Math.min(rpm, filled.tokens + count), atMs: filled.atMs };
}

/** The decision as headers state it, of a bucket that is refilled up to now. */
export function decisionOf(bucket: Bucket, rpm: number, allowed: boolean, count = 1): QuotaDecision {
  const secondsFor = (tokens: number): number => Math.max(0, Math.ceil(((tokens - EPSILON) * 60) / rpm));
  return {
    allowed,
    limit: rpm,
    remaining: Math.max(0, Math.floor(bucket.tokens + EPSILON)),
    resetS: secondsFor(rpm - bucket.tokens),
    retryAfterS: bucket.tokens >= count - EPSILON ? 0 : Math.max(1, secondsFor(count - bucket.tokens)),
  };
}

/** `X-RateLimit-Remaining` for a key without a limit. */
export const UNLIMITED_REMAINING = 1_000_000_000;

/** The quota headers of an answer to a request without a known key. */
export const ANONYMOUS_QUOTA: Readonly<Record<string, string>> = quotaHeaders('anonymous', {
  allowed: false,
  limit: 0,
  remaining: 0,
  resetS: 0,
  retryAfterS: 0,
});

/** The quota headers of the answer to a request. */
export function quotaHeadersOf({
  key,
  quota,
}: {
  readonly key: { readonly policy: string } | null;
  readonly quota: QuotaDecision | null;
}): Readonly<Record<string, string>> {
  return key === null ? ANONYMOUS_QUOTA : quotaHeaders(key.policy, quota);
}

/** @param policy names the plan @param decision null for a plan without a limit (`X-RateLimit-Limit: 0`) */
export function quotaHeaders(policy: string, decision: QuotaDecision | null): Record<string, string> {
  const q = decision === null ? UNLIMITED_REMAINING : decision.limit;
  const r = decision === null ? UNLIMITED_REMAINING : decision.remaining;
  const t = decision === null ? 0 : decision.resetS;
  return {
    'x-ratelimit-limit': decision === null ? '0' : String(q),
    'x-ratelimit-remaining': String(r),
    'x-ratelimit-reset': String(t),
    // draft-ietf-httpapi-ratelimit-headers: a named policy with its quota and window, and its state.
    'ratelimit-policy': `"${policy}";q=${q};w=60`,
    ratelimit: `"${policy}";r=${r};t=${t}`,
  };
}
