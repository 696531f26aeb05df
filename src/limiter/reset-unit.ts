/**
 * Whether the deltas of `X-RateLimit-Reset` are seconds or milliseconds. One number does not say: 80 is either. But a
 * delta falls as time passes, and how fast it falls says it. Once confirmed it is pinned. Pure: time is passed in.
 */
import { deltaOf, LARGEST_DELTA_SECONDS, readRateHeaders, resetFormOf, type DeltaUnit, type Headers } from './rate-headers.ts';

/** So many confirmations in a row pin a unit. */
const CONFIRMATIONS = 2;
/** Two readings are compared when so much time is between them: enough for whole seconds to show. */
const APART_MS = 2_500;
/** And when no more is: of two windows, the beginnings of which are stated a few milliseconds apart, the difference may look like the seconds between them. */
const TOGETHER_MS = 30_000;
/** How far a fall may be off, for rounding and latency. */
const TOLERANCE = 0.3;
/** Deltas too large for seconds that neither fall nor rise (a bucket's) pin milliseconds as well. */
const LARGE_ONES = 8;

export class ResetUnit {
  #pinned: DeltaUnit | null = null;
  #last: { readonly value: number; readonly atMs: number } | null = null;
  #leaning: DeltaUnit | null = null;
  #confirmations = 0;
  #large = 0;
  /** A permit was left once, so that the service holds more than one. */
  #seenLeft = false;
  /** What the resets that are no deltas look like, and how many in a row did. */
  #form: 'epoch seconds' | 'epoch milliseconds' | 'date' | null = null;
  #formSeen = 0;

  get pinned(): DeltaUnit | null {
    return this.#pinned;
  }

  /** What resets are, in words, once several answers have agreed on it; null until then. */
  get verdict(): string | null {
    if (this.#pinned !== null) return `${this.#pinned} from now`;
    return this.#form === null || this.#formSeen < CONFIRMATIONS ? null : this.#form;
  }

  /** Learns from one response; what is known then. @param nowMs monotonic, when it came */
  read(headers: Headers, nowMs: number): DeltaUnit | null {
    if (this.#pinned !== null) return this.#pinned;
    const value = deltaOf(headers);
    if (value === null) {
      this.#noteForm(headers);
      return null;
    }
    if (this.#isOneInterval(headers, value)) return 'milliseconds';
    const last = this.#last;
    if (last !== null && nowMs - last.atMs < APART_MS && value <= last.value) return null;
    this.#last = { value, atMs: nowMs };
    if (last === null || nowMs - last.atMs < APART_MS || nowMs - last.atMs > TOGETHER_MS) return null;
    if (value <= last.value) this.#compare(last.value - value, nowMs - last.atMs);
    if (value > LARGEST_DELTA_SECONDS && this.#leaning === null && ++this.#large >= LARGE_ONES) this.#pinned = 'milliseconds';
    return this.#pinned;
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

  #compare(fall: number, passedMs: number): void {
    const seconds = Math.abs(fall - passedMs / 1_000) <= 1 + TOLERANCE * (passedMs / 1_000) && fall >= 1;
    const milliseconds = Math.abs(fall - passedMs) <= TOLERANCE * passedMs;
    const unit = milliseconds ? 'milliseconds' : seconds ? 'seconds' : null;
    this.#confirmations = unit === null ? 0 : unit === this.#leaning ? this.#confirmations + 1 : 1;
    this.#leaning = unit;
    if (this.#confirmations >= CONFIRMATIONS) this.#pinned = unit;
  }
}
