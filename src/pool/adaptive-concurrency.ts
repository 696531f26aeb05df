/**
 * How many calls at once, found by watching what comes of them. Pure.
 *
 * Little's law: at a rate r and a latency l, r * l calls are in flight. While fewer are than the limit allows, something
 * else (the quota, the reader) sets the pace, and the limit stays. Where the limit binds, it asks for more at once and
 * looks what that brought: either more calls got done in the same time, or each took longer because they queue at the
 * service. Calls that queue are of no use, so then it goes back and asks whether fewer would do.
 *
 * A service that became slower by itself is told from one that queues in the same way: with fewer at once its calls are
 * no faster. It then needs more at once to do as much, and where the plan's rate is known it gets them without delay.
 * Failures lower the limit; throttling (429) never changes it: that is the limiter's dial.
 */

export interface ConcurrencyBounds { readonly min: number; readonly max: number; readonly start: number }

/** At the top: 5,000 calls a minute of 6 s each, or 10,000 a second of 50 ms. */
export const AUTO_BOUNDS: ConcurrencyBounds = { min: 4, max: 512, start: 16 };

/** The same where no more than `most` can be had. */
export function boundsWithin(most: number): ConcurrencyBounds {
  const { min, max, start } = AUTO_BOUNDS;
  return { min: Math.min(min, most), max: Math.min(max, most), start: Math.min(start, most) };
}

/** No more at once than so many calls a millisecond need: more would only hold memory. */
const MOST_PER_MS = 12;
/** Below this, latency is the machine's own noise and says nothing about the service. */
const NOISE_MS = 8;
/** Calls in a round: the limit, and at least this many. */
const SHORTEST_ROUND = 20;
/** At first twice as many are asked for each time; after that was too much, half of this step. */
const SWIFT = 2;
const CAREFUL = Math.SQRT2;
/** No more than so many connections are opened in one moment. */
const MOST_AT_ONCE = 64;
/** More at once was worth it when at least so much of it was not spent on longer latency; fewer, when no more than that was lost. */
const WORTH = 0.25;
/** A latency so many times longer, or shorter, is another service than before. */
const ANOTHER = 2;
/** Rounds that the limit stays as it is after more was asked for in vain. */
const HOLD_ROUNDS = 15;
/** While the plan's rate is not reached, only so many rounds; and only so many refusals in a row are believed. */
const HOLD_ROUNDS_SHORT = 1;
const REFUSALS = 2;
/** A larger share of failures lowers the limit to this part of it. */
const FAILING_SHARE = 0.1;
const AFTER_FAILURES = 0.7;

/** What a round of calls came to. */
interface Round { readonly limit: number; readonly latencyMs: number; readonly binds: boolean }

/** So many in flight on average need room for more: they come and go at random, and spread by their root. */
function roomFor(inFlight: number): number {
  return inFlight + 2 * Math.sqrt(inFlight);
}

export class AdaptiveConcurrency {
  readonly #bounds: ConcurrencyBounds;
  readonly #callsPerMs: number | null;
  #limit: number;
  /** What the round under way is to tell. */
  #asking: 'nothing' | 'more' | 'fewer' = 'nothing';
  /** What it is compared with. */
  #before: Round | null = null;
  /** What a call takes when all is as usual. */
  #usualMs: number | null = null;
  #step = SWIFT;
  #hold = 0;
  /** How often in a row more was asked for in vain. */
  #refusals = 0;
  #sumMs = 0;
  #count = 0;
  #failures = 0;
  #sumInFlight = 0;
  /** Calls that left before the limit was changed, and say nothing about it. */
  #skip = 0;

  /** @param options.rpm requests a minute of the plan; null: unlimited */
  constructor({ rpm, bounds = AUTO_BOUNDS }: { readonly rpm: number | null; readonly bounds?: ConcurrencyBounds }) {
    this.#bounds = bounds;
    this.#callsPerMs = rpm === null ? null : rpm / 60_000;
    this.#limit = bounds.start;
  }

  get limit(): number {
    return this.#limit;
  }

  /** One finished call, and how many were in flight, this one included. Returns the limit from now on. */
  observe(latencyMs: number, ok: boolean, inFlight: number): number {
    if (this.#skip > 0) {
      this.#skip--;
      return this.#limit;
    }
    this.#count++;
    this.#sumInFlight += inFlight;
    // A failure may come at once, or only when patience is over: either says nothing of the latency.
    if (ok) this.#sumMs += latencyMs;
    else this.#failures++;
    if (this.#count >= Math.max(SHORTEST_ROUND, this.#limit)) this.#endRound(inFlight);
    return this.#limit;
  }

  /** After an outage: as gently as at first. */
  restart(): void {
    this.#limit = this.#bounds.start;
    this.#asking = 'nothing';
    this.#usualMs = null;
    this.#step = SWIFT;
    this.#hold = 0;
    this.#refusals = 0;
    this.#skip = 0;
    this.#forget();
  }

  #endRound(inFlight: number): void {
    const failing = this.#failures > this.#count * FAILING_SHARE;
    const round: Round = {
      limit: this.#limit,
      latencyMs: Math.max(NOISE_MS, this.#sumMs / Math.max(1, this.#count - this.#failures)),
      binds: roomFor(this.#sumInFlight / this.#count) >= this.#limit,
    };
    this.#forget();
    if (failing) this.#giveWay();
    else if (!round.binds) this.#enough(round);
    else if (this.#asking === 'more') this.#judgeMore(round, this.#before as Round);
    else if (this.#asking === 'fewer') this.#judgeFewer(round, this.#before as Round);
    else this.#bound(round);
    // This call is no longer in flight; the others left under the limit of before.
    if (this.#limit !== round.limit) this.#skip = inFlight - 1;
  }

  #giveWay(): void {
    this.#stay(HOLD_ROUNDS);
    this.#step = CAREFUL;
    this.#set(this.#limit * AFTER_FAILURES);
  }

  /** Something else sets the pace. */
  #enough(round: Round): void {
    this.#stay(0);
    this.#step = SWIFT;
    this.#refusals = 0;
    this.#usualMs = round.latencyMs;
  }

  #bound(round: Round): void {
    const { latencyMs } = round;
    const usualMs = (this.#usualMs ??= latencyMs);
    if (latencyMs > usualMs * ANOTHER) {
      this.#step = SWIFT;
      if (this.#tooFew(round)) this.#askMore(round);
      else this.#askFewer(round);
      return;
    }
    if (latencyMs < usualMs / ANOTHER) {
      this.#usualMs = latencyMs;
      this.#step = SWIFT;
      this.#hold = 0;
    }
    if (this.#hold > 0) this.#hold--;
    else this.#askMore(round);
  }

  #judgeMore(round: Round, before: Round): void {
    if (round.latencyMs <= before.latencyMs * (round.limit / before.limit) ** (1 - WORTH)) {
      this.#usualMs = round.latencyMs;
      this.#refusals = 0;
      this.#askMore(round);
      return;
    }
    this.#step = CAREFUL;
    this.#set(before.limit);
    // Latencies that spread widely refuse by chance; calls that queue do so again and again.
    if (this.#tooFew(before) && ++this.#refusals < REFUSALS) this.#stay(HOLD_ROUNDS_SHORT);
    else this.#askFewer(before);
  }

  #judgeFewer(round: Round, before: Round): void {
    this.#refusals = 0;
    this.#usualMs = round.latencyMs;
    if (round.latencyMs <= before.latencyMs * (round.limit / before.limit) ** (1 - WORTH)) {
      this.#step = CAREFUL;
      this.#askFewer(round);
      return;
    }
    this.#set(before.limit);
    // Slower by itself: with as many as before, it is so from now on.
    this.#stay(this.#step === SWIFT ? 0 : this.#tooFew(round) ? HOLD_ROUNDS_SHORT : HOLD_ROUNDS);
  }

  /** Whether the plan's rate needs more at once than the limit allows. */
  #tooFew({ latencyMs }: Round): boolean {
    return this.#callsPerMs !== null && this.#limit < roomFor(this.#callsPerMs * latencyMs);
  }

  #askMore(before: Round): void {
    const more = Math.min(before.limit * this.#step, before.limit + MOST_AT_ONCE);
    if (before.limit >= Math.min(this.#bounds.max, roomFor(MOST_PER_MS * before.latencyMs))) this.#stay(0);
    else this.#ask('more', before, Math.ceil(more));
  }

  #askFewer(before: Round): void {
    if (before.limit > this.#bounds.min) {
      this.#ask('fewer', before, before.limit / 2);
      return;
    }
    this.#set(before.limit);
    this.#stay(HOLD_ROUNDS);
  }

  #ask(what: 'more' | 'fewer', before: Round, limit: number): void {
    this.#asking = what;
    this.#before = before;
    this.#set(limit);
  }

  #stay(rounds: number): void {
    this.#asking = 'nothing';
    this.#before = null;
    this.#hold = rounds;
  }

  #set(limit: number): void {
    this.#limit = Math.round(Math.min(this.#bounds.max, Math.max(this.#bounds.min, limit)));
  }

  #forget(): void {
    this.#sumMs = 0;
    this.#count = 0;
    this.#failures = 0;
    this.#sumInFlight = 0;
  }
}
