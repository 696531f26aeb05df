/**
 * Finds out whether the deltas of `X-RateLimit-Reset` are seconds or milliseconds. One number does not say: 80 is either, and 50,000 is
 * most of a minute or most of a day. The first of these decides:
 *
 * - `Retry-After` on the same answer, which is in seconds.
 * - The quota's arithmetic: a limit equal to the plan belongs to a minute, a limit that no minute can hold belongs to a longer window.
 * - A second answer, however much later: a delta falls by 1 or by 1,000 a second.
 *
 * A confirmed unit is pinned. Pure: time is passed in.
 */
import type { PlanWindow } from '../../client/quota/quota-reading.ts';
import type { ResetForm } from '../../client/quota/stated-reset.ts';
import { LARGEST_DELTA_SECONDS, type DeltaUnit } from './rate-reading.ts';

/** Confirmations in a row that pin a unit. */
const CONFIRMATIONS = 2;
/** The least time between two readings that are compared, so that whole seconds show. */
const APART_MS = 2_500;
/**
 * Beyond this time a loose match means nothing. The resets of two windows may differ by milliseconds that look like the seconds between
 * them.
 */
const CLOSE_MS = 30_000;
/**
 * The tolerance of a fall, for rounding and latency. When the readings are far apart: seconds, and a share because two clocks do not run
 * alike.
 */
const TOLERANCE = 0.3;
const FAR_TOLERANCE_S = 1.6;
const FAR_TOLERANCE = 0.000_5;
/** Deltas in a row that are too large for seconds and neither fall nor rise (a bucket's). They pin milliseconds too. */
const LARGE_DELTAS = 8;
/** `Retry-After` may be rounded, and be off by a second. */
const RETRY_AFTER_SLACK_S = 1;
/** A shorter `Retry-After` may belong to another window, and match by chance. */
const MIN_RETRY_AFTER_S = 10;
/** A quota that exceeds the plan by this factor, if read as milliseconds, belongs to a longer window. */
const PLAN_FACTOR = 3;
/** Common windows, milliseconds. */
const WINDOWS_MS = [1_000, 10_000, 60_000, 600_000, 3_600_000, 86_400_000];

const FORM_DESCRIPTIONS: Readonly<Record<Exclude<ResetForm, 'delta'>, string>> = {
  'epoch seconds': 'in epoch seconds',
  'epoch milliseconds': 'in epoch milliseconds',
  date: 'as a date',
  duration: 'as a duration',
};

interface SeenDelta {
  readonly value: number;
  readonly atMs: number;
  readonly remaining: number | null;
}

/** The answer that carried the headers. */
interface AnswerContext {
  /** `Retry-After` in milliseconds; null when the header is missing. */
  readonly retryAfterMs?: number | null;
  readonly throttled?: boolean;
}

export class ResetUnit {
  readonly #rpm: number | null;
  #pinned: DeltaUnit | null = null;
  #last: SeenDelta | null = null;
  #candidate: DeltaUnit | null = null;
  #confirmations = 0;
  #large = 0;
  /** An answer stated permits left, so the service holds more than one. */
  #hasHadPermits = false;
  /** The form of resets that are not deltas, and how many in a row had it. */
  #form: Exclude<ResetForm, 'delta'> | null = null;
  #formSeen = 0;

  /** @param rpm requests a minute of the plan; null when it is unlimited or unknown */
  constructor(rpm: number | null = null) {
    this.#rpm = rpm;
  }

  get pinned(): DeltaUnit | null {
    return this.#pinned;
  }

  /** The form of the resets, in words that follow "the service states the reset of its quota"; null until several answers agree on it. */
  get description(): string | null {
    if (this.#pinned !== null) return `in ${this.#pinned} from now`;
    return this.#form === null || this.#formSeen < CONFIRMATIONS ? null : FORM_DESCRIPTIONS[this.#form];
  }

  /** Learns from one response and returns the unit, if it is known. @param nowMs monotonic, when the response came */
  read(
    { limit, remaining, reset }: PlanWindow,
    nowMs: number,
    { retryAfterMs = null, throttled = false }: AnswerContext = {},
  ): DeltaUnit | null {
    if (reset?.form === 'delta' && reset.unit !== null) return reset.unit;
    if (this.#pinned !== null) return this.#pinned;
    if (reset === null) return null;
    if (reset.form !== 'delta') {
      this.#noteForm(reset.form);
      return null;
    }
    const { value } = reset;
    if (retryAfterMs !== null && this.#byRetryAfter(value, retryAfterMs / 1_000, limit)) return this.#pinned;
    if (this.#isOneInterval(limit, remaining, value)) return 'milliseconds';
    const now = { value, atMs: nowMs, remaining };
    this.#observe(now, limit, throttled);
    return this.#pinned ?? this.#byArithmetic(value, limit);
  }

  #observe(now: SeenDelta, limit: number | null, throttled: boolean): void {
    const last = this.#last;
    if (last !== null && now.atMs - last.atMs < APART_MS && now.value <= last.value) return;
    this.#last = now;
    if (last === null || now.atMs - last.atMs < APART_MS) return;
    if (now.atMs - last.atMs > CLOSE_MS) {
      if (this.#fellFar(last, now) && !this.#isMinutes(limit)) this.#confirm('seconds', throttled);
      return;
    }
    if (now.value <= last.value) this.#compare(last.value - now.value, now.atMs - last.atMs, throttled && !this.#isMinutes(limit));
    if (now.value > LARGEST_DELTA_SECONDS && this.#candidate === null && ++this.#large >= LARGE_DELTAS) this.#pinned = 'milliseconds';
  }

  /** Compares with `Retry-After`, which may speak about the same moment or about another window. */
  #byRetryAfter(value: number, retryAfterS: number, limit: number | null): boolean {
    if (retryAfterS <= RETRY_AFTER_SLACK_S) return false;
    if (Math.abs(value - retryAfterS) <= RETRY_AFTER_SLACK_S) this.#pinned = 'seconds';
    else if (Math.abs(value / 1_000 - retryAfterS) <= RETRY_AFTER_SLACK_S && (this.#isMinutes(limit) || retryAfterS >= MIN_RETRY_AFTER_S))
      this.#pinned = 'milliseconds';
    return this.#pinned !== null;
  }

  /** The unit by the quota's arithmetic, for a delta that is large for seconds; null when it does not decide. */
  #byArithmetic(value: number, limit: number | null): DeltaUnit | null {
    if (value <= LARGEST_DELTA_SECONDS || limit === null || this.#rpm === null) return null;
    if (this.#isMinutes(limit)) return 'milliseconds';
    const windowMs = WINDOWS_MS.find((ms) => ms >= value) ?? value;
    return (limit / windowMs) * 60_000 > PLAN_FACTOR * this.#rpm ? 'seconds' : null;
  }

  /** Whether the limit is the plan's: then the window is a minute, and no reset is further away. */
  #isMinutes(limit: number | null): boolean {
    return limit === null || limit === this.#rpm;
  }

  /**
   * A service that holds one permit states each time that none is left, and that the next is one interval away. In milliseconds that is a
   * small number. Read as seconds, it would make calls wait for minutes.
   */
  #isOneInterval(limit: number | null, remaining: number | null, value: number): boolean {
    if (remaining !== 0) this.#hasHadPermits = true;
    return !this.#hasHadPermits && limit !== null && limit > 0 && Math.abs(value - 60_000 / limit) <= 1;
  }

  #noteForm(form: Exclude<ResetForm, 'delta'>): void {
    this.#formSeen = form === this.#form ? Math.min(this.#formSeen + 1, CONFIRMATIONS) : 1;
    this.#form = form;
  }

  /**
   * For readings far apart. The window is the same only if the delta fell by the time that passed, and if permits were spent or none was
   * left.
   */
  #fellFar(last: SeenDelta, now: SeenDelta): boolean {
    const passedS = (now.atMs - last.atMs) / 1_000;
    const spent = last.remaining === null || now.remaining === null || now.remaining < last.remaining || now.remaining === 0;
    return spent && Math.abs(last.value - now.value - passedS) <= FAR_TOLERANCE_S + FAR_TOLERANCE * passedS;
  }

  #compare(fall: number, passedMs: number, decides: boolean): void {
    const seconds = Math.abs(fall - passedMs / 1_000) <= 1 + TOLERANCE * (passedMs / 1_000) && fall >= 1;
    const milliseconds = Math.abs(fall - passedMs) <= TOLERANCE * passedMs;
    const unit = milliseconds ? 'milliseconds' : seconds ? 'seconds' : null;
    if (unit === null) this.#confirmations = 0;
    else this.#confirm(unit, decides);
    this.#candidate = unit;
  }

  /** @param decides a refused call is waited for by this reading alone */
  #confirm(unit: DeltaUnit, decides: boolean): void {
    this.#confirmations = unit === this.#candidate ? this.#confirmations + 1 : 1;
    this.#candidate = unit;
    if (decides || this.#confirmations >= CONFIRMATIONS) this.#pinned = unit;
  }
}
