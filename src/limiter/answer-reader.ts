/** Brings the quota that an answer states into milliseconds, with the unit that its deltas were found to have. */
import type { PlanWindow, WindowReading } from '../client/quota/quota-reading.ts';
import type { AnsweredCall, LimiterOptions } from './limiter-options.ts';
import { PERIODS_MS } from '../util/periods.ts';
import { ClockDistance } from './inference/clock-distance.ts';
import { LongWindow } from './inference/long-window.ts';
import { toRateReading, type RateReading } from './inference/rate-reading.ts';
import { ResetUnit } from './inference/reset-unit.ts';

interface AnswerReading {
  /** The window of the plan, as the answer states it; null when it does not. */
  readonly plan: PlanWindow | null;
  /** The same in milliseconds. */
  readonly reading: RateReading | null;
  /** All other windows. */
  readonly windows: readonly WindowReading[];
}

const NOTHING: AnswerReading = { plan: null, reading: null, windows: [] };

export class AnswerReader {
  readonly #options: Pick<LimiterOptions, 'rpm' | 'onResetUnit' | 'onUnreadableReset' | 'onNegativeQuota'>;
  readonly #unit: ResetUnit;
  readonly #longWindow = new LongWindow();
  #reportedUnit = false;
  #reportedUnreadable = false;
  #reportedNegative = false;
  readonly #distance = new ClockDistance();
  /** The newest answer with quota headers; null before the first. */
  stated: RateReading | null = null;

  constructor(options: Pick<LimiterOptions, 'rpm' | 'onResetUnit' | 'onUnreadableReset' | 'onNegativeQuota'>) {
    this.#options = options;
    this.#unit = new ResetUnit(options.rpm);
  }

  /** @param nowMs monotonic, when the answer came */
  read({ quota, retryAfterMs, throttled }: Pick<AnsweredCall, 'quota' | 'retryAfterMs' | 'throttled'>, nowMs: number): AnswerReading {
    const { rpm, onResetUnit, onUnreadableReset, onNegativeQuota } = this.#options;
    if (quota === null || (rpm === null && quota.plan?.limit === 0)) return NOTHING;
    const { windows, unreadableReset, negative } = quota;
    const plan = this.#byOwnClock(quota.plan);
    if (negative !== undefined && !this.#reportedNegative) {
      this.#reportedNegative = true;
      onNegativeQuota?.(negative);
    }
    if (unreadableReset !== null && !this.#reportedUnreadable) {
      this.#reportedUnreadable = true;
      onUnreadableReset?.(unreadableReset);
    }
    if (plan === null) return { ...NOTHING, windows };
    const unit = this.#unit.read(plan, nowMs, { retryAfterMs: throttled ? retryAfterMs : null, throttled });
    if (!this.#reportedUnit && this.#unit.description !== null) {
      this.#reportedUnit = true;
      onResetUnit?.(this.#unit.description);
    }
    const reading = toRateReading(plan, unit);
    this.stated = reading;
    return { plan, reading, windows: [...windows, ...this.#longWindow.of(reading)] };
  }

  /** A time that was read by the local clock, for want of a `Date`, tells how wrong that is: a limit equal to the plan has a minute. */
  #byOwnClock(plan: PlanWindow | null): PlanWindow | null {
    const reset = plan?.reset ?? null;
    if (plan === null || reset === null || reset.form === 'delta' || reset.localMs === undefined) return plan;
    if (plan.limit === null || plan.limit !== this.#options.rpm) return plan;
    return { ...plan, reset: { ...reset, inMs: this.#distance.untilReset(reset.localMs, PERIODS_MS.minute) } };
  }
}
