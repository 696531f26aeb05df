/** Brings the quota that an answer states into milliseconds, with the unit that its deltas were found to have. */
import type { PlanWindow, WindowReading } from '../client/quota/quota-reading.ts';
import type { AnsweredCall, LimiterOptions } from './limiter-options.ts';
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
  readonly #options: Pick<LimiterOptions, 'rpm' | 'onResetUnit' | 'onUnreadableReset'>;
  readonly #unit: ResetUnit;
  readonly #longWindow = new LongWindow();
  #reportedUnit = false;
  #reportedUnreadable = false;
  /** The newest answer with quota headers; null before the first. */
  stated: RateReading | null = null;

  constructor(options: Pick<LimiterOptions, 'rpm' | 'onResetUnit' | 'onUnreadableReset'>) {
    this.#options = options;
    this.#unit = new ResetUnit(options.rpm);
  }

  /** @param nowMs monotonic, when the answer came */
  read({ quota, retryAfterMs, throttled }: Pick<AnsweredCall, 'quota' | 'retryAfterMs' | 'throttled'>, nowMs: number): AnswerReading {
    const { rpm, onResetUnit, onUnreadableReset } = this.#options;
    if (quota === null || (rpm === null && quota.plan?.limit === 0)) return NOTHING;
    const { plan, windows, unreadableReset } = quota;
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
}
