/** The retry policy: how many attempts, and the delay between them. Pure. */

/** Attempts of a lookup, the first included. */
export const MAX_ATTEMPTS = 5;
/** Answers of a shape that says nothing here, before the lookup is given up: each of them may be paid for. */
export const MAX_UNFIT = 2;
const BASE_DELAY_MS = 250;
const LONGEST_DELAY_MS = 20_000;

/**
 * Exponential backoff with full jitter, so that calls which failed together do not return together. `Retry-After` is a lower bound.
 * @param attempt the attempt that failed, from 1
 * @param random 0 <= random < 1
 * @param leftMs the last attempt goes when this time is over, milliseconds; null, or none left: there is no such time
 */
export function retryDelayMs(attempt: number, retryAfterMs: number | null, random: number, leftMs: number | null = null): number {
  const ceiling = Math.min(LONGEST_DELAY_MS, BASE_DELAY_MS * 2 ** (attempt - 1));
  const waitMs = Math.max(retryAfterMs ?? 0, Math.floor(random * ceiling));
  return leftMs === null || leftMs <= 0 ? waitMs : Math.min(waitMs, leftMs);
}
