/** A quota as an answer states it, with the reset in milliseconds. Pure. */
import type { PlanWindow } from '../../client/quota/quota-reading.ts';
import { believableMs } from '../../client/quota/stated-reset.ts';

export interface RateReading {
  /** Permits that the service says are left; null when it does not say. */
  readonly remaining: number | null;
  /** Milliseconds from the response until the quota is restored; null when the answer has no reset, or an unbelievable one. */
  readonly resetMs: number | null;
  /** How much later than `resetMs` the reset may be, because the header or the `Date` has whole seconds. */
  readonly resetSlackMs: number;
  /** False: the reset is a delta whose unit is not known yet. */
  readonly resetIsSure: boolean;
  /** Permits of a whole window; null when the answer does not say. */
  readonly limit: number | null;
  /** `X-RateLimit-Limit: 0`: the plan is unlimited. */
  readonly unlimited: boolean;
}

/** The unit of a delta. */
export type DeltaUnit = 'seconds' | 'milliseconds';

const WINDOW_MS = 60_000;
/** While the unit is unknown, a delta of up to two windows is read as seconds, a larger one as milliseconds. */
export const LARGEST_DELTA_SECONDS = (2 * WINDOW_MS) / 1_000;
/** The shortest wait for a delta of unknown unit: until then the next answer tells which unit it is. */
const SETTLED_AFTER_MS = 3_000;

/** The window in milliseconds. @param unit of deltas, when it is known (`ResetUnit`) */
export function toRateReading({ limit, remaining, reset }: PlanWindow, unit: DeltaUnit | null): RateReading {
  const delta = reset?.form === 'delta' ? reset.value : null;
  // A large delta of unknown unit is read as milliseconds, which are exact.
  const isExact = unit === 'milliseconds' || (delta !== null && delta > LARGEST_DELTA_SECONDS);
  return {
    remaining,
    resetMs: reset === null ? null : reset.form === 'delta' ? deltaMs(reset.value, unit) : reset.inMs,
    resetSlackMs: isExact ? 0 : reset === null || reset.form === 'delta' ? 1_000 : reset.slackMs,
    resetIsSure: unit !== null || delta === null,
    limit,
    unlimited: limit === 0,
  };
}

/** Whether the numbers fit together: more permits left than the limit are nonsense. */
export function isConsistent({ unlimited, remaining, limit }: RateReading): boolean {
  return unlimited || (remaining !== null && (limit === null || remaining <= limit));
}

function deltaMs(value: number, unit: DeltaUnit | null): number | null {
  if (unit === 'seconds' || (unit === null && value <= LARGEST_DELTA_SECONDS)) return believableMs(value * 1_000);
  return believableMs(unit === null ? Math.max(value, SETTLED_AFTER_MS) : value);
}
