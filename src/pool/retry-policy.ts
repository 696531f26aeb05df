/** When a failed attempt is worth another, and how long to wait for it. Pure. */

/** Attempts a lookup gets in all. */
export const MAX_ATTEMPTS = 5;
const BASE_DELAY_MS = 250;
const LONGEST_DELAY_MS = 20_000;

/**
 * Exponential backoff with full jitter: anything between nothing and the ceiling, so that calls which failed together
 * do not come back together. A wait the service asked for is a floor.
 * @param attempt the attempt that failed, from 1
 * @param random 0 <= random < 1
 */
export function retryDelayMs(attempt: number, retryAfterMs: number | null, random: number): number {
  const ceiling = Math.min(LONGEST_DELAY_MS, BASE_DELAY_MS * 2 ** (attempt - 1));
  return Math.max(retryAfterMs ?? 0, Math.floor(random * ceiling));
}
