/** What an answer says of the quota, whatever family its headers are of, in the unit that its deltas were found to have. */
import type { LimiterOptions } from './limiter-options.ts';
import type { ObservedAnswer } from './limiter.ts';
import { LongWindow } from './long-window.ts';
import { readQuotaHeaders, type WindowReading } from './quota-headers.ts';
import { readRateHeaders, type Headers, type RateReading } from './rate-headers.ts';
import { ResetUnit } from './reset-unit.ts';

export interface AnswerReading {
  /** The minute's window in the names of `X-RateLimit-*`. */
  readonly headers: Headers;
  /** The same, read; null: the answer says nothing of it. */
  readonly reading: RateReading | null;
  /** All windows that are no minute's. */
  readonly windows: readonly WindowReading[];
}

const NOTHING: AnswerReading = { headers: {}, reading: null, windows: [] };

export class AnswerReader {
  readonly #options: Pick<LimiterOptions, 'rpm' | 'wallNow' | 'onResetUnit' | 'onUnreadableReset'>;
  readonly #unit: ResetUnit;
  readonly #longWindow = new LongWindow();
  #unitTold = false;
  #unreadableTold = false;
  /** What the newest answer with quota headers has said; null: there was none. */
  stated: RateReading | null = null;

  constructor(options: Pick<LimiterOptions, 'rpm' | 'wallNow' | 'onResetUnit' | 'onUnreadableReset'>) {
    this.#options = options;
    this.#unit = new ResetUnit(options.rpm);
  }

  /** @param nowMs monotonic, when the answer came */
  read({ headers: all, retryAfterMs, throttled }: Pick<ObservedAnswer, 'headers' | 'retryAfterMs' | 'throttled'>, nowMs: number): AnswerReading {
    const { rpm, wallNow, onResetUnit, onUnreadableReset } = this.#options;
    // There may be ten thousand a second of an unlimited plan.
    if (rpm === null && all['x-ratelimit-limit'] === '0') return NOTHING;
    const { headers, isSeconds, windows, unreadableReset } = readQuotaHeaders(all, wallNow());
    if (unreadableReset !== null && !this.#unreadableTold) {
      this.#unreadableTold = true;
      onUnreadableReset?.(unreadableReset);
    }
    if (headers === null) return { ...NOTHING, windows };
    const unit = isSeconds ? 'seconds' : this.#unit.read(headers, nowMs, { retryAfterMs: throttled ? retryAfterMs : null, throttled });
    if (!this.#unitTold && this.#unit.verdict !== null) {
      this.#unitTold = true;
      onResetUnit?.(this.#unit.verdict);
    }
    const reading = readRateHeaders(headers, wallNow(), unit);
    this.stated = reading;
    return { headers, reading, windows: [...windows, ...this.#longWindow.of(reading)] };
  }
}
