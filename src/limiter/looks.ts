/**
 * Permits that are kept back to look how the quota comes back: while nothing is left, nothing can be learnt without a
 * call that may be refused. Pure: time is passed in.
 */
import { awaited, type Seen } from './comeback.ts';
import { SEEN_PERMITS, SMALL_SHARE } from './evidence.ts';
import { MINUTE_MS, type Told } from './told-answers.ts';

/** Kept back where the service is seen to have so many at once, and no small bucket. */
const LOOKS = 2;
const LOOKS_FROM_PERMITS = 10;
/** Where a minute holds so many permits, those that are kept back are no more than 0.5 % of them. */
const LOOKS_COST_NOTHING_FROM = 400;
/** A look waits until a bucket would have gained so many permits. */
const LOOK_FOR_PERMITS = 3;
/** After each look that saw nothing, the next waits so many times longer. */
const LOOK_BACKOFF = 4;
const LONGEST_BACKOFF = 6;
/** The last look is so long before the stated reset, and twice a latency more. */
const LAST_CHANCE_MS = 2_000;

export class Looks {
  readonly #seen: Seen;
  #misses = 0;

  constructor(seen: Seen) {
    this.#seen = seen;
  }

  /** How many permits are for looking. */
  kept(): number {
    const { evidence } = this.#seen;
    if (evidence.small || !evidence.bucket) return 0;
    return evidence.capacity < Math.max(LOOKS_FROM_PERMITS, (evidence.rate ?? 0) * SMALL_SHARE) ? 0 : LOOKS;
  }

  /** The same of what came back: what was seen to come back does so again; until then, and where they are a trifle, the last permits are for looking. */
  keptOfComeback(): number {
    const { evidence } = this.#seen;
    return evidence.fixed || evidence.capacity >= LOOKS_COST_NOTHING_FROM ? this.kept() : 0;
  }

  /** When one of the permits that are kept back may be used; the last chance is before the stated reset. */
  nextMs(nowMs: number): number {
    const { told, evidence, latencies, log } = this.#seen;
    if (told.latest === undefined || evidence.rate === null) return -Infinity;
    const lastChanceMs = told.untilMs - 2 * latencies.maxMs - LAST_CHANCE_MS;
    const { answeredMs } = told.latest;
    if (awaited(this.#seen, nowMs) > 0) return Math.max(lastChanceMs, answeredMs + MINUTE_MS);
    const lastSentMs = log.sentAt(log.last) ?? -Infinity;
    return Math.min(Math.max(lastChanceMs, answeredMs), lastSentMs + (LOOK_FOR_PERMITS / evidence.perMs) * LOOK_BACKOFF ** this.#misses);
  }

  /** A look, or a call that went alone as one does, was answered. @param before the answer before it */
  answered(told: Told, before: Told): void {
    const { evidence } = this.#seen;
    if (told.remaining + 1 > before.remaining) this.#misses = 0;
    // A call that follows at once is no look: nothing can have come back since.
    else if (evidence.capacity < LOOKS_COST_NOTHING_FROM || (told.sentMs - before.answeredMs) * evidence.perMs >= SEEN_PERMITS) this.#misses = Math.min(this.#misses + 1, LONGEST_BACKOFF);
  }
}
