/**
 * Whether the part of a plan that is left to missing pods is used by anybody. A pod that goes on by itself uses it; when all have
 * died, the service has it left over, minute after minute. Pure: time is passed in.
 */
import { callsOfPart } from '../plan-share.ts';
import { MINUTE_MS } from '../told-answers.ts';

/** Until a pod that is cut off goes on by itself, and all that it had sent before is forgotten. */
const FIRST_MS = MINUTE_MS + 10_000;
/** Longer than a window, so that its end is among what is seen. */
const LOOK_MS = MINUTE_MS + 10_000;
/** So much of the plan must be left at all times; those who use their parts leave less of it in some minutes. */
const LEFT = 0.06;
/** A part that is smaller than this cannot be told from what is always left. */
const LEAST_PART = 0.1;
/** What is left says nothing unless the others use so much of theirs. */
const BUSY = 0.9;

export class Unused {
  readonly #rpm: number;
  readonly #part: number;
  readonly #share: number;
  #sinceMs: number;
  #least = Infinity;
  #toldMs: number;

  /** @param part of the plan that the others have, since `nowMs` @param share of the plan that is left to the missing pods that are meant */
  constructor(rpm: number, part: number, nowMs: number, share = 1 - part) {
    this.#rpm = rpm;
    this.#part = part;
    this.#share = share;
    this.#sinceMs = nowMs + FIRST_MS;
    this.#toldMs = nowMs;
  }

  /**
   * An answer said how many permits are left. @param spent by the others within the last minute
   * @param part of the plan that the others have by now @param byLater permits that pods leave over which went missing later: they say nothing of these
   */
  told(remaining: number | null, spent: number, nowMs: number, part = this.#part, byLater = 0): void {
    if (remaining === null) return;
    // Between two answers there may have been less: what can be used, evenly, in that time.
    const unseen = (this.#rpm * (nowMs - this.#toldMs)) / MINUTE_MS;
    this.#toldMs = nowMs;
    if (nowMs < this.#sinceMs) return;
    this.#least = Math.min(this.#least, remaining - unseen - byLater);
    if (this.#least >= LEFT * this.#rpm && spent + 1 >= BUSY * callsOfPart(this.#rpm, part)) return;
    this.#sinceMs = nowMs;
    this.#least = Infinity;
  }

  isCertain(nowMs: number): boolean {
    return this.#share >= LEAST_PART - 1e-9 && this.#least < Infinity && nowMs - this.#sinceMs >= LOOK_MS;
  }
}
