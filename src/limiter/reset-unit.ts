/**
 * Whether the deltas of `X-RateLimit-Reset` are seconds or milliseconds. One number does not say: 80 is either. But a
 * delta falls as time passes, and how fast it falls says it. Once confirmed it is pinned. Pure: time is passed in.
 */
import { deltaOf, LARGEST_DELTA_SECONDS, type DeltaUnit, type Headers } from './rate-headers.ts';

/** So many confirmations in a row pin a unit. */
const CONFIRMATIONS = 2;
/** Two readings are compared when so much time is between them: enough for whole seconds to show. */
const APART_MS = 2_500;
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

  get pinned(): DeltaUnit | null {
    return this.#pinned;
  }

  /** Learns from one response; what is known then. @param nowMs monotonic, when it came */
  read(headers: Headers, nowMs: number): DeltaUnit | null {
    if (this.#pinned !== null) return this.#pinned;
    const value = deltaOf(headers);
    if (value === null) return null;
    if (value > LARGEST_DELTA_SECONDS && ++this.#large >= LARGE_ONES && this.#leaning !== 'seconds') this.#pinned = 'milliseconds';
    const last = this.#last;
    if (last === null || value > last.value) this.#last = { value, atMs: nowMs };
    else if (nowMs - last.atMs >= APART_MS) {
      this.#compare(last.value - value, nowMs - last.atMs);
      this.#last = { value, atMs: nowMs };
    }
    return this.#pinned;
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
