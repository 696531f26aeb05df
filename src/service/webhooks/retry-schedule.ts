/** The retry schedule of failed deliveries (Standard Webhooks). Pure. */

const [SECOND_MS, MINUTE_MS, HOUR_MS] = [1_000, 60_000, 3_600_000];
/** The wait after each failed attempt, milliseconds. */
export const RETRY_AFTER_MS: readonly number[] = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
];
/** The largest fraction that is added to a wait at random: it spreads the retries of deliveries that failed together. */
const JITTER = 0.1;

/** The longest wait, even if a receiver asks for a longer one, milliseconds. */
export const LONGEST_MS = Math.max(...RETRY_AFTER_MS) * (1 + JITTER);

/** The longest pause of a host, milliseconds. One address asks for it, but all addresses of the host wait. */
export const LONGEST_PAUSE_MS = HOUR_MS;
const [TOO_MANY_REQUESTS, UNAVAILABLE] = [429, 503];

/**
 * How long to pause a host after an answer, milliseconds. A 429 without `Retry-After` pauses for five seconds, a 503 without it does not.
 * @param requestedMs the `Retry-After` of the answer, milliseconds; null when it is missing
 */
export function pauseMs(status: number | null, requestedMs: number | null): number {
  const wantedMs = status === TOO_MANY_REQUESTS ? (requestedMs ?? 5 * SECOND_MS) : status === UNAVAILABLE ? (requestedMs ?? 0) : 0;
  return Math.min(LONGEST_PAUSE_MS, wantedMs);
}

/**
 * Milliseconds until the next attempt; null after the last attempt.
 * @param attempts failed attempts, from 1
 * @param random 0 up to 1
 * @param requestedMs the `Retry-After` of the answer, milliseconds; null when it is missing
 */
export function retryAfterMs(attempts: number, random: number, requestedMs: number | null): number | null {
  const after = RETRY_AFTER_MS[attempts - 1];
  if (after === undefined) return null;
  return Math.round(Math.min(LONGEST_MS, Math.max(after, requestedMs ?? 0) * (1 + JITTER * random)));
}

/**
 * A `Retry-After` (RFC 9110 10.2.3: seconds, or a date) in milliseconds; null when it is missing or invalid.
 * @param nowMs epoch milliseconds
 */
export function retryAfterHeaderMs(header: string | undefined, nowMs: number): number | null {
  if (header === undefined) return null;
  if (/^\d+$/.test(header)) return Number(header) * SECOND_MS;
  const atMs = /^[A-Z][a-z]{2}, .* GMT$/.test(header) ? Date.parse(header) : NaN;
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - nowMs);
}
