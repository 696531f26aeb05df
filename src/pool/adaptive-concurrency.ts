/**
 * Finds how many calls at once pay off, by measuring. Pure.
 *
 * Little's law: at a rate r and a latency l, r * l calls are in flight. While fewer are in flight than the limit allows, something else
 * (the quota, the reader) sets the pace, and the limit stays. Where the limit binds, a round with a higher limit shows what it brings: more
 * calls in the same time, or longer latencies because calls queue at the service. Queued calls bring nothing, so then it goes back and
 * tries fewer.
 *
 * A service that became slower by itself looks the same, but fewer calls at once do not make it faster. It needs more at once for the
 * same rate, and gets them without delay where the plan's rate is known. Failures lower the limit. Throttling (429) never changes it: that
 * is the limiter's concern.
 */

interface ConcurrencyBounds {
  readonly min: number;
  readonly max: number;
  readonly start: number;
}

/** The maximum: 5,000 calls a minute of 6 s each, or 10,000 a second of 50 ms. */
export const AUTO_BOUNDS: ConcurrencyBounds = { min: 4, max: 512, start: 16 };

/** The bounds where at most `most` connections are available. */
export function boundsWithin(most: number): ConcurrencyBounds {
  const { min, max, start } = AUTO_BOUNDS;
  return { min: Math.min(min, most), max: Math.min(max, most), start: Math.min(start, most) };
}

/** The limit never exceeds what this many calls a millisecond need. More would only hold memory. */
const MAX_CALLS_PER_MS = 12;
/** Below this, latency is noise of this machine and says nothing about the service. */
const NOISE_MS = 8;
/** Calls in a round: the limit, and at least this many. */
const SHORTEST_ROUND = 20;
/** The first step doubles the limit. After a step too far, the next ones are half as large. */
const FAST_STEP = 2;
const CAREFUL_STEP = Math.SQRT2;
/** The most connections that are opened in one moment. */
const MAX_INCREASE = 64;
/** A higher limit pays off when at least this share of it did not go into longer latency; a lower one, when no more was lost. */
const GAIN_SHARE = 0.25;
/** A latency that is longer or shorter by this factor shows that the service has changed. */
const LATENCY_CHANGE = 2;
/** Rounds that the limit stays after a higher one did not pay off. */
const HOLD_ROUNDS = 15;
/** The same while the plan's rate is not reached; and how many failed tries in a row are believed. */
const HOLD_ROUNDS_SHORT = 1;
const MAX_REFUSALS = 2;
/** A larger share of failures lowers the limit by this factor. */
const FAILING_SHARE = 0.1;
const AFTER_FAILURES = 0.7;

/** The result of a round of calls. */
interface Round {
  readonly limit: number;
  readonly latencyMs: number;
  readonly binds: boolean;
}

/** The limit that an average number of calls in flight needs: calls come and go at random and spread by their square root. */
function concurrencyFor(inFlight: number): number {
  return inFlight + 2 * Math.sqrt(inFlight);
}

export class AdaptiveConcurrency {
  readonly #bounds: ConcurrencyBounds;
  readonly #callsPerMs: number | null;
  #limit: number;
  /** The try of the current round. */
  #trying: 'nothing' | 'more' | 'fewer' = 'nothing';
  /** The round that it is compared with. */
  #before: Round | null = null;
  /** The usual latency of a call. */
  #usualMs: number | null = null;
  #step = FAST_STEP;
  #holdRounds = 0;
  /** How often in a row a higher limit did not pay off. */
  #refusals = 0;
  #sumMs = 0;
  #count = 0;
  #failures = 0;
  #sumInFlight = 0;
  /** Calls that left before the limit changed, and so say nothing about it. */
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

  /** A call has ended. Returns the new limit. @param inFlight calls in flight, with this one */
  observe(latencyMs: number, ok: boolean, inFlight: number): number {
    if (this.#skip > 0) {
      this.#skip--;
      return this.#limit;
    }
    this.#count++;
    this.#sumInFlight += inFlight;
    // A failure may come at once or after a timeout, so its latency means nothing.
    if (ok) this.#sumMs += latencyMs;
    else this.#failures++;
    if (this.#count >= Math.max(SHORTEST_ROUND, this.#limit)) this.#endRound(inFlight);
    return this.#limit;
  }

  /** Starts again after an outage, with the initial limit. */
  restart(): void {
    this.#limit = this.#bounds.start;
    this.#trying = 'nothing';
    this.#usualMs = null;
    this.#step = FAST_STEP;
    this.#holdRounds = 0;
    this.#refusals = 0;
    this.#skip = 0;
    this.#clearRound();
  }

  #endRound(inFlight: number): void {
    const failing = this.#failures > this.#count * FAILING_SHARE;
    const round: Round = {
      limit: this.#limit,
      latencyMs: Math.max(NOISE_MS, this.#sumMs / Math.max(1, this.#count - this.#failures)),
      binds: concurrencyFor(this.#sumInFlight / this.#count) >= this.#limit,
    };
    this.#clearRound();
    if (failing) this.#lowerAfterFailures();
    else if (!round.binds) this.#notBinding(round);
    else if (this.#trying === 'more') this.#judgeMore(round, this.#before as Round);
    else if (this.#trying === 'fewer') this.#judgeFewer(round, this.#before as Round);
    else this.#binding(round);
    // The other calls in flight left under the earlier limit.
    if (this.#limit !== round.limit) this.#skip = inFlight - 1;
  }

  #lowerAfterFailures(): void {
    this.#hold(HOLD_ROUNDS);
    this.#step = CAREFUL_STEP;
    this.#set(this.#limit * AFTER_FAILURES);
  }

  /** The limit does not bind: something else sets the pace. */
  #notBinding(round: Round): void {
    this.#hold(0);
    this.#step = FAST_STEP;
    this.#refusals = 0;
    this.#usualMs = round.latencyMs;
  }

  #binding(round: Round): void {
    const { latencyMs } = round;
    const usualMs = (this.#usualMs ??= latencyMs);
    if (latencyMs > usualMs * LATENCY_CHANGE) {
      this.#step = FAST_STEP;
      if (this.#tooFew(round)) this.#tryMore(round);
      else this.#tryFewer(round);
      return;
    }
    if (latencyMs < usualMs / LATENCY_CHANGE) {
      this.#usualMs = latencyMs;
      this.#step = FAST_STEP;
      this.#holdRounds = 0;
    }
    if (this.#holdRounds > 0) this.#holdRounds--;
    else this.#tryMore(round);
  }

  #judgeMore(round: Round, before: Round): void {
    if (round.latencyMs <= before.latencyMs * (round.limit / before.limit) ** (1 - GAIN_SHARE)) {
      this.#usualMs = round.latencyMs;
      this.#refusals = 0;
      this.#tryMore(round);
      return;
    }
    this.#step = CAREFUL_STEP;
    this.#set(before.limit);
    // Widely spread latencies fail a try by chance, queued calls fail it again and again.
    if (this.#tooFew(before) && ++this.#refusals < MAX_REFUSALS) this.#hold(HOLD_ROUNDS_SHORT);
    else this.#tryFewer(before);
  }

  #judgeFewer(round: Round, before: Round): void {
    this.#refusals = 0;
    this.#usualMs = round.latencyMs;
    if (round.latencyMs <= before.latencyMs * (round.limit / before.limit) ** (1 - GAIN_SHARE)) {
      this.#step = CAREFUL_STEP;
      this.#tryFewer(round);
      return;
    }
    this.#set(before.limit);
    // The service became slower by itself: this is its usual latency from now on.
    this.#hold(this.#step === FAST_STEP ? 0 : this.#tooFew(round) ? HOLD_ROUNDS_SHORT : HOLD_ROUNDS);
  }

  /** Whether the plan's rate needs a higher limit. */
  #tooFew({ latencyMs }: Round): boolean {
    return this.#callsPerMs !== null && this.#limit < concurrencyFor(this.#callsPerMs * latencyMs);
  }

  #tryMore(before: Round): void {
    const more = Math.min(before.limit * this.#step, before.limit + MAX_INCREASE);
    if (before.limit >= Math.min(this.#bounds.max, concurrencyFor(MAX_CALLS_PER_MS * before.latencyMs))) this.#hold(0);
    else this.#try('more', before, Math.ceil(more));
  }

  #tryFewer(before: Round): void {
    if (before.limit > this.#bounds.min) {
      this.#try('fewer', before, before.limit / 2);
      return;
    }
    this.#set(before.limit);
    this.#hold(HOLD_ROUNDS);
  }

  #try(what: 'more' | 'fewer', before: Round, limit: number): void {
    this.#trying = what;
    this.#before = before;
    this.#set(limit);
  }

  #hold(rounds: number): void {
    this.#trying = 'nothing';
    this.#before = null;
    this.#holdRounds = rounds;
  }

  #set(limit: number): void {
    this.#limit = Math.round(Math.min(this.#bounds.max, Math.max(this.#bounds.min, limit)));
  }

  #clearRound(): void {
    this.#sumMs = 0;
    this.#count = 0;
    this.#failures = 0;
    this.#sumInFlight = 0;
  }
}
