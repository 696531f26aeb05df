/** When a delivery that failed is tried again, as Standard Webhooks has it. Pure. */

const [SECOND_MS, MINUTE_MS, HOUR_MS] = [1_000, 60_000, 3_600_000];
/** After each attempt that failed, how long until the next. */
export const RETRY_AFTER_MS: readonly number[] = [5 * SECOND_MS, 5 * MINUTE_MS, 30 * MINUTE_MS, 2 * HOUR_MS, 5 * HOUR_MS, 10 * HOUR_MS, 14 * HOUR_MS, 20 * HOUR_MS, 24 * HOUR_MS];
/** What failed together need not come again together. */
const JITTER = 0.1;

/** Milliseconds until the next attempt; null: there is none. @param attempts that failed, from 1 @param random 0 up to 1 */
export function retryAfterMs(attempts: number, random: number): number | null {
  const after = RETRY_AFTER_MS[attempts - 1];
  return after === undefined ? null : Math.round(after * (1 + JITTER * random));
}
