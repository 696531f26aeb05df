/** When a delivery that failed is tried again, as Standard Webhooks has it. Pure. */

const [SECOND_MS, MINUTE_MS, HOUR_MS] = [1_000, 60_000, 3_600_000];
/** After each attempt that failed, how long until the next. */
export const RETRY_AFTER_MS: readonly number[] = [5 * SECOND_MS, 5 * MINUTE_MS, 30 * MINUTE_MS, 2 * HOUR_MS, 5 * HOUR_MS, 10 * HOUR_MS, 14 * HOUR_MS, 20 * HOUR_MS, 24 * HOUR_MS];
/** What failed together need not come again together. */
const JITTER = 0.1;

/** Whoever asks for more time is given no more than the schedule's last wait. */
export const LONGEST_MS = Math.max(...RETRY_AFTER_MS) * (1 + JITTER);

/** For how long a host is left alone at most: what one address of it asks for is waited for by others there, too. */
export const LONGEST_PAUSE_MS = HOUR_MS;
const [TOO_MANY_REQUESTS, UNAVAILABLE] = [429, 503];

/** For how long nothing more is sent to a host that has answered so, milliseconds: who has had too many requests says until when, or is left alone for a moment; who is out of service says so. @param askedMs as below */
export function pauseMs(status: number | null, askedMs: number | null): number {
  const wantedMs = status === TOO_MANY_REQUESTS ? (askedMs ?? 5 * SECOND_MS) : status === UNAVAILABLE ? (askedMs ?? 0) : 0;
  return Math.min(LONGEST_PAUSE_MS, wantedMs);
}

/** Milliseconds until the next attempt; null: there is none. @param attempts that failed, from 1 @param random 0 up to 1 @param askedMs for how long the receiver wants to be left alone; null: it did not say */
export function retryAfterMs(attempts: number, random: number, askedMs: number | null): number | null {
  const after = RETRY_AFTER_MS[attempts - 1];
  if (after === undefined) return null;
  return Math.round(Math.min(LONGEST_MS, Math.max(after, askedMs ?? 0) * (1 + JITTER * random)));
}

/** What a `Retry-After` asks for (RFC 9110 10.2.3: seconds, or a date), milliseconds; null: there is none, or nothing that can be read. @param nowMs epoch milliseconds */
export function askedMs(header: string | undefined, nowMs: number): number | null {
  if (header === undefined) return null;
  if (/^\d+$/.test(header)) return Number(header) * SECOND_MS;
  const atMs = /^[A-Z][a-z]{2}, .* GMT$/.test(header) ? Date.parse(header) : NaN;
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - nowMs);
}
