/** A window without a name that is longer than a minute, and the words for any window. Pure. */
import { PERIODS_MS, type WindowReading } from './quota-headers.ts';
import type { UsedUp } from './quota-windows.ts';
import type { RateReading } from './rate-headers.ts';

/** Two of a minute's windows: a reset that is further away is another window's. */
const LONGEST_MINUTE_MS = 120_000;

export class LongWindow {
  /** The shortest period that its resets were seen to fit into. */
  #periodMs = 0;

  /** Where a reset is surely further away than a minute's can be, the quota is kept as that of a longer window, so that a resume knows of it. Empty: it is a minute's, or nobody knows. */
  of({ limit, remaining, resetMs, resetIsSure, unlimited }: RateReading): WindowReading[] {
    if (resetMs === null || !resetIsSure || remaining === null || unlimited || (limit !== null && remaining > limit)) return [];
    if (resetMs <= LONGEST_MINUTE_MS && this.#periodMs === 0) return [];
    this.#periodMs = Math.max(this.#periodMs, Object.values(PERIODS_MS).find((period) => period >= resetMs) ?? PERIODS_MS.month);
    return [{ periodMs: this.#periodMs, limit, remaining, resetMs }];
  }
}

/** Such as `quota of 300 requests a day`. */
export function windowWords({ limit, periodMs }: Pick<UsedUp, 'limit' | 'periodMs'>): string {
  const name = Object.entries(PERIODS_MS).find(([, ms]) => ms === periodMs)?.[0];
  const period = name === undefined ? `in ${periodMs / 1_000} s` : `${name === 'hour' ? 'an' : 'a'} ${name}`;
  return `quota${limit === null ? '' : ` of ${limit.toLocaleString('en-US')} requests`} ${period}`;
}
