/**
 * Finds out whether missing pods use the part of the plan that is left to them. A pod that goes on alone uses it. If they have all ended,
 * the service has it left over, minute after minute. Pure: time is passed in.
 */
import { rpmOfShare } from '../plan-share.ts';
import { MINUTE_MS } from '../../inference/quota-observations.ts';

/** The time until a pod that is cut off goes on alone, and its earlier calls have expired. */
const DELAY_MS = MINUTE_MS + 10_000;
/** The observed span: longer than a window, so that it contains the end of one. */
const OBSERVED_MS = MINUTE_MS + 10_000;
/** The share of the plan that must be left at all times. Pods that use their parts leave less in some minutes. */
const LEFT_SHARE = 0.06;
/** A smaller part cannot be told from the permits that are always left. */
const LEAST_PART = 0.1;
/** The share of their part that the present pods must use, or the rest means nothing. */
const BUSY_SHARE = 0.9;

export class IdleShare {
  readonly #rpm: number;
  readonly #part: number;
  readonly #share: number;
  #sinceMs: number;
  #least = Infinity;
  #observedMs: number;

  /**
   * @param part the present pods' part of the plan, since `nowMs`
   * @param share the missing pods' part
   */
  constructor(rpm: number, part: number, nowMs: number, share = 1 - part) {
    this.#rpm = rpm;
    this.#part = part;
    this.#share = share;
    this.#sinceMs = nowMs + DELAY_MS;
    this.#observedMs = nowMs;
  }

  /**
   * An answer stated how many permits are left.
   * @param spent calls of the present pods within the last minute
   * @param part the present pods' part by now
   * @param leftByLater permits that pods leave over which went missing later
   */
  observe(remaining: number | null, spent: number, nowMs: number, part = this.#part, byLater = 0): void {
    if (remaining === null) return;
    // Between two answers there may have been fewer: the permits that are used in that time at an even rate.
    const unseen = (this.#rpm * (nowMs - this.#observedMs)) / MINUTE_MS;
    this.#observedMs = nowMs;
    if (nowMs < this.#sinceMs) return;
    this.#least = Math.min(this.#least, remaining - unseen - byLater);
    if (this.#least >= LEFT_SHARE * this.#rpm && spent + 1 >= BUSY_SHARE * rpmOfShare(this.#rpm, part)) return;
    this.#sinceMs = nowMs;
    this.#least = Infinity;
  }

  isCertain(nowMs: number): boolean {
    return this.#share >= LEAST_PART - 1e-9 && this.#least < Infinity && nowMs - this.#sinceMs >= OBSERVED_MS;
  }
}
