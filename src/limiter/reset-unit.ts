/**
 * Whether the deltas of `X-RateLimit-Reset` are seconds or milliseconds. One number does not say: 80 is either, and 50,000 is most
 * of a minute or most of a day. These settle it, the first that can:
 *
 * - `Retry-After` on the same answer, which is in seconds.
 * - The quota's own arithmetic: a limit that is the plan's a minute is a minute's; one that a minute cannot hold is a longer window's.
 * - A second answer, however far away: a delta falls as time passes, by 1 or by 1,000 a second.
 *
 * Once confirmed the unit is pinned. Pure: time is passed in.
 */
import { deltaOf, LARGEST_DELTA_SECONDS, readRateHeaders, resetFormOf, type DeltaUnit, type Headers, type ResetForm } from './rate-headers.ts';

/** So many confirmations in a row pin a unit. */
const CONFIRMATIONS = 2;
/** Two readings are compared when so much time is between them: enough for whole seconds to show. */
export const APART_MS = 2_500;
/** Beyond this a loose match says nothing: of two windows, the beginnings of which are stated a few milliseconds apart, the difference may look like the seconds between them. */
const TOGETHER_MS = 30_000;
/** How far a fall may be off, for rounding and latency; and when the two are far apart, seconds and a share for clocks that do not run alike. */
const TOLERANCE = 0.3;
const FAR_TOLERANCE_S = 1.6;
const FAR_TOLERANCE = 0.000_5;
/** Deltas too large for seconds that neither fall nor rise (a bucket's) pin milliseconds as well. */
const LARGE_ONES = 8;
/** `Retry-After` may be rounded up, and say a second more or less. */
const RETRY_AFTER_SLACK_S = 1;
/** A shorter one may be that of another window, and match by chance. */
const TELLING_RETRY_AFTER_S = 10;
/** A quota that exceeds the plan by this factor, within a window read as milliseconds, belongs to a longer window. */
const TIMES_THE_PLAN = 3;
/** Windows that services have, milliseconds. */
const WINDOWS_MS = [1_000, 10_000, 60_000, 600_000, 3_600_000, 86_400_000];

const FORM_WORDS: Readonly<Record<Exclude<ResetForm, 'delta'>, string>> = {
  'epoch seconds': 'in epoch seconds', 'epoch milliseconds': 'in epoch milliseconds', date: 'as a date', duration: 'as a duration',
};

interface Seen { readonly value: number; readonly atMs: number; readonly remaining: number | null }

/** What an answer is besides its headers. */
export interface AnswerFacts {
  /** What `Retry-After` asks for, milliseconds; null when the header is missing. */
  readonly retryAfterMs?: number | null;
  readonly throttled?: boolean;
}

export class ResetUnit {
  readonly #rpm: number | null;
  #pinned: DeltaUnit | null = null;
  #last: Seen | null = null;
  #leaning: DeltaUnit | null = null;
  #confirmations = 0;
  #large = 0;
  /** A permit was left once, so that the service holds more than one. */
  #seenLeft = false;
  /** What the resets that are no deltas look like, and how many in a row did. */
  #form: Exclude<ResetForm, 'delta'> | null = null;
  #formSeen = 0;

  /** @param rpm requests a minute of the plan; null: unlimited, or not known */
  constructor(rpm: number | null = null) {
    this.#rpm = rpm;
  }

  get pinned(): DeltaUnit | null {
    return this.#pinned;
  }

  /** What resets are, in words that follow "the service states the reset of its quota", once several answers have agreed on it; null until then. */
  get verdict(): string | null {
    if (this.#pinned !== null) return `in ${this.#pinned} from now`;
    return this.#form === null || this.#formSeen < CONFIRMATIONS ? null : FORM_WORDS[this.#form];
  }

  /** Learns from one response; what is known then. @param nowMs monotonic, when it came */
  read(headers: Headers, nowMs: number, { retryAfterMs = null, throttled = false }: AnswerFacts = {}): DeltaUnit | null {
    if (this.#pinned !== null) return this.#pinned;
    const value = deltaOf(headers);
    if (value === null) {
      this.#noteForm(headers);
      return null;
    }
    const { limit, remaining } = readRateHeaders(headers, 0);
    if (retryAfterMs !== null && this.#byRetryAfter(value, retryAfterMs / 1_000, limit)) return this.#pinned;
    if (this.#isOneInterval(headers, value)) return 'milliseconds';
    const now = { value, atMs: nowMs, remaining };
    this.#observe(now, limit, throttled);
    return this.#pinned ?? this.#byArithmetic(value, limit);
  }

  #observe(now: Seen, limit: number | null, throttled: boolean): void {
    const last = this.#last;
    if (last !== null && now.atMs - last.atMs < APART_MS && now.value <= last.value) return;
    this.#last = now;
    if (last === null || now.atMs - last.atMs < APART_MS) return;
    if (now.atMs - last.atMs > TOGETHER_MS) {
      if (this.#fellFar(last, now) && !this.#isMinutes(limit)) this.#confirm('seconds', throttled);
      return;
    }
    if (now.value <= last.value) this.#compare(last.value - now.value, now.atMs - last.atMs, throttled && !this.#isMinutes(limit));
    if (now.value > LARGEST_DELTA_SECONDS && this.#leaning === null && ++this.#large >= LARGE_ONES) this.#pinned = 'milliseconds';
  }

  /** `Retry-After` speaks of the same moment, or of another: then it says nothing. */
  #byRetryAfter(value: number, retryAfterS: number, limit: number | null): boolean {
    if (retryAfterS <= RETRY_AFTER_SLACK_S) return false;
    if (Math.abs(value - retryAfterS) <= RETRY_AFTER_SLACK_S) this.#pinned = 'seconds';
    else if (Math.abs(value / 1_000 - retryAfterS) <= RETRY_AFTER_SLACK_S && (this.#isMinutes(limit) || retryAfterS >= TELLING_RETRY_AFTER_S)) this.#pinned = 'milliseconds';
    return this.#pinned !== null;
  }

  /** The unit by the quota's own arithmetic, for a delta that is large for seconds; null: it does not say. */
  #byArithmetic(value: number, limit: number | null): DeltaUnit | null {
    if (value <= LARGEST_DELTA_SECONDS || limit === null || this.#rpm === null) return null;
    if (this.#isMinutes(limit)) return 'milliseconds';
    const windowMs = WINDOWS_MS.find((ms) => ms >= value) ?? value;
    return (limit / windowMs) * 60_000 > TIMES_THE_PLAN * this.#rpm ? 'seconds' : null;
  }

  /** The limit is the plan's: its window is a minute, which no reset is further away than. */
  #isMinutes(limit: number | null): boolean {
    return limit === null || limit === this.#rpm;
  }

  /**
   * A service that holds one permit says every time that none is left and that the next is one interval away. In
   * milliseconds that is a small number, which would be waited for for minutes if it were taken for seconds.
   */
  #isOneInterval(headers: Headers, value: number): boolean {
    const { limit, remaining } = readRateHeaders(headers, 0);
    if (remaining !== 0) this.#seenLeft = true;
    return !this.#seenLeft && limit !== null && limit > 0 && Math.abs(value - 60_000 / limit) <= 1;
  }

  #noteForm(headers: Headers): void {
    const form = resetFormOf(headers);
    if (form === null || form === 'delta') return;
    this.#formSeen = form === this.#form ? Math.min(this.#formSeen + 1, CONFIRMATIONS) : 1;
    this.#form = form;
  }

  /** Far apart: the same window goes on only when the fall is the time that passed, and something of the quota was spent, or nothing was left. */
  #fellFar(last: Seen, now: Seen): boolean {
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
    this.#leaning = unit;
  }

  /** @param decides a refused call is waited for by this reading alone */
  #confirm(unit: DeltaUnit, decides: boolean): void {
    this.#confirmations = unit === this.#leaning ? this.#confirmations + 1 : 1;
    this.#leaning = unit;
    if (decides || this.#confirmations >= CONFIRMATIONS) this.#pinned = unit;
  }
}
