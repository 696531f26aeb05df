/** A window without a name that is longer than a minute, and the description of any window. Pure. */
import type { WindowReading } from '../../client/quota/quota-reading.ts';
import { PERIODS_MS } from '../../util/periods.ts';
import type { RateReading } from './rate-reading.ts';

/** Two minutes: a reset that is further away belongs to a longer window. */
const LONGEST_MINUTE_MS = 120_000;

export class LongWindow {
  /** The shortest period that all observed resets fit into. */
  #periodMs = 0;

  /**
   * A reset that is certainly further away than a minute's makes a longer window, so that a resumed run knows about it. Empty: it is a
   * minute's window, or unknown.
   */
  of({ limit, remaining, resetMs, resetIsSure, unlimited }: RateReading): WindowReading[] {
    if (resetMs === null || !resetIsSure || remaining === null || unlimited || (limit !== null && remaining > limit)) return [];
    if (resetMs <= LONGEST_MINUTE_MS && this.#periodMs === 0) return [];
    this.#periodMs = Math.max(this.#periodMs, Object.values(PERIODS_MS).find((period) => period >= resetMs) ?? PERIODS_MS.month);
    return [{ periodMs: this.#periodMs, limit, remaining, resetMs }];
  }
}

/** Such as `quota of 300 requests a day`. */
export function describeWindow({ limit, periodMs }: { readonly limit: number | null; readonly periodMs: number }): string {
  const name = Object.entries(PERIODS_MS).find(([, ms]) => ms === periodMs)?.[0];
  const period = name === undefined ? `in ${periodMs / 1_000} s` : `${name === 'hour' ? 'an' : 'a'} ${name}`;
  return `quota${limit === null ? '' : ` of ${limit.toLocaleString('en-US')} requests`} ${period}`;
}
