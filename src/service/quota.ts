/** The quota: one token bucket per key, `rpm / 60` tokens a second, holding one minute's quota. Pure: time is passed in. */

const MINUTE_MS = 60_000;
/** Float noise from refilling must not turn a whole token into 0.999...: tokens are compared with this much room. */
const EPSILON = 1e-6;

/** A bucket as it was at a moment of some monotonic clock, in milliseconds. Below 0 where a crash has left it unknown what was taken. */
export interface Bucket {
  readonly tokens: number;
  readonly atMs: number;
}

export interface QuotaDecision {
  readonly allowed: boolean;
  readonly limit: number;
  /** Whole tokens left. */
  readonly remaining: number;
  /** Seconds until the bucket is full again if nothing more is asked, rounded up. */
  readonly resetS: number;
  /** Seconds until the tokens that were asked for are there, rounded up; 0 when they are already. */
  readonly retryAfterS: number;
}

/** A full bucket. */
export function fullBucket(rpm: number, nowMs: number): Bucket {
  return { tokens: rpm, atMs: nowMs };
}

/** The bucket at `nowMs`, with what has flowed in since. A clock that goes back adds nothing, and a lower rpm cuts what was saved up. */
export function refill(bucket: Bucket, rpm: number, nowMs: number): Bucket {
  const elapsed = Math.max(0, nowMs - bucket.atMs);
  return { tokens: Math.min(rpm, bucket.tokens + (elapsed * rpm) / MINUTE_MS), atMs: Math.max(nowMs, bucket.atMs) };
}

/** Takes `count` tokens when as many whole ones are there, else none. */
export function take(bucket: Bucket, rpm: number, nowMs: number, count = 1): { bucket: Bucket; decision: QuotaDecision } {
  const filled = refill(bucket, rpm, nowMs);
  const allowed = filled.tokens >= count - EPSILON;
  const after = allowed ? { tokens: Math.max(0, filled.tokens - count), atMs: filled.atMs } : filled;
  return { bucket: after, decision: describe(after, rpm, allowed, count) };
}

/** Gives back `count` tokens that were taken for nothing. */
export function giveBack(bucket: Bucket, rpm: number, nowMs: number, count: number): Bucket {
  const filled = refill(bucket, rpm, nowMs);
  return { tokens: Math.min(rpm, filled.tokens + count), atMs: filled.atMs };
}

/** What the headers say of a bucket already filled up to now. */
export function describe(bucket: Bucket, rpm: number, allowed: boolean, count = 1): QuotaDecision {
  const secondsFor = (tokens: number): number => Math.max(0, Math.ceil(((tokens - EPSILON) * 60) / rpm));
  return {
    allowed,
    limit: rpm,
    remaining: Math.max(0, Math.floor(bucket.tokens + EPSILON)),
    resetS: secondsFor(rpm - bucket.tokens),
    retryAfterS: bucket.tokens >= count - EPSILON ? 0 : Math.max(1, secondsFor(count - bucket.tokens)),
  };
}

/** Where the buckets of all keys are kept. */
export interface QuotaLedger {
  /** Takes tokens from the key's bucket: all, or none when there are too few. */
  take(keyId: string, rpm: number, nowMs: number, count?: number): QuotaDecision;
  /** Gives back tokens that were taken for nothing, and says what is there then. */
  giveBack(keyId: string, rpm: number, nowMs: number, count: number): QuotaDecision;
  /** What `take` would find, taking nothing. */
  peek(keyId: string, rpm: number, nowMs: number): QuotaDecision;
  /** Whether an answer to this key has to wait until what it took is written down. */
  owes(keyId: string): boolean;
}

/** What `X-RateLimit-Remaining` says to a key without a limit. */
export const UNLIMITED_REMAINING = 1_000_000_000;

/** The quota headers of an answer to somebody whose key is not known: there is no quota for them. */
export const NOBODY: Readonly<Record<string, string>> = quotaHeaders('anonymous', { allowed: false, limit: 0, remaining: 0, resetS: 0, retryAfterS: 0 });

/** Those of the answer to a request. */
export function quotaOf({ key, quota }: { readonly key: { readonly policy: string } | null; readonly quota: QuotaDecision | null }): Readonly<Record<string, string>> {
  return key === null ? NOBODY : quotaHeaders(key.policy, quota);
}

/** The quota headers of an answer; `decision` null: the plan has no limit (`X-RateLimit-Limit: 0`). `policy` names the plan. */
export function quotaHeaders(policy: string, decision: QuotaDecision | null): Record<string, string> {
  const q = decision === null ? UNLIMITED_REMAINING : decision.limit;
  const r = decision === null ? UNLIMITED_REMAINING : decision.remaining;
  const t = decision === null ? 0 : decision.resetS;
  return {
    'x-ratelimit-limit': decision === null ? '0' : String(q),
    'x-ratelimit-remaining': String(r),
    'x-ratelimit-reset': String(t),
    // draft-ietf-httpapi-ratelimit-headers: a named policy with its quota and window, and the state of it.
    'ratelimit-policy': `"${policy}";q=${q};w=60`,
    ratelimit: `"${policy}";r=${r};t=${t}`,
  };
}
