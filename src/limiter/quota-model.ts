/**
 * How many calls may start now, by what the service's answers say of the quota. Pure and deterministic: time is passed in.
 *
 * What is known: an answer carries how many permits were left when the service decided, `Remaining`. Of those, all that
 * was sent since may be gone, and all that was in flight then and is not answered yet. What is left after that may be
 * sent at once, whatever limiter the service has.
 *
 * When nothing is left, the quota comes back by rules that the service does not tell: at once when a fixed window ends,
 * call by call in a sliding one, evenly in a token bucket. The model does not guess which: it counts on what all of
 * them have given back by now.
 * - A call of our own that is older than a window is forgotten by both kinds of windows. How long decisions lag behind
 *   sends is unknown, but that the lag does not vary by more than the spread of latencies may be counted on.
 * - A bucket has gained no more than the plan's rate times what has passed.
 * - Once the stated reset is over, one call asks how things stand.
 * A bucket that holds next to nothing never has anything left to show; it is recognised by permits that come back
 * again and again, sooner than windows could give them (`#small`), and then goes by the rate alone.
 */
import { LatencySpread } from './latency-spread.ts';
import type { RateReading } from './rate-headers.ts';
import { SendLog } from './send-log.ts';

export const MINUTE_MS = 60_000;

/** One answer that says how many permits were left. */
interface Told {
  readonly ticket: number;
  readonly sentMs: number;
  readonly answeredMs: number;
  readonly remaining: number;
  /** When the stated reset is, at the earliest and at the latest. */
  readonly notBeforeMs: number;
  readonly untilMs: number;
}

/** What the last window has spent: kept in the checkpoint. */
export interface Spent {
  readonly calls: number;
  /** Wall clock, milliseconds, of the last of them. */
  readonly lastAtMs: number;
}

/** Calls are forgotten when they are so much older than a window. */
const LONGEST_LAG_MS = 30_000;
/** So many answers in a row without quota headers: they have stopped coming. */
const SILENT_ANSWERS = 3;
/** Even spacing may make up for so much of its timers' lateness. */
const CATCH_UP_MS = 100;
/** Permits that are kept back to look how the quota comes back, where the service is seen to have so many at once, and no small bucket. */
const LOOKS = 2;
const LOOKS_FROM_PERMITS = 10;
/** Where a minute holds so many permits, those that are kept back are no more than 0.5 % of them. */
const LOOKS_COST_NOTHING_FROM = 400;
/** A look waits until a bucket would have gained so many permits. */
const LOOK_FOR_PERMITS = 3;
/** A look that sees nothing counts when a bucket would have gained so many. */
const SEEN_PERMITS = 2;
/** After each look that saw nothing, the next waits so many times longer. */
const LOOK_BACKOFF = 4;
/** A service that never holds more than this share of a minute's quota may be a small bucket. */
const SMALL_SHARE = 0.2;
/** So many permits that came back unexplained within less than a window make it one. */
const RISES = 3;
/** So many permits that came back before the stated reset refute a fixed window. */
const EARLY_RISES = 3;
const RISES_WITHIN_MS = 55_000;
/** How long a neighbour that was noticed is reckoned with. */
const OTHERS_FOR_MS = 10 * MINUTE_MS;
/** So many looks that saw nothing refute a bucket. */
const FLAT_LOOKS = 2;
/** A predicted rate stays below the plan's by this much, for clocks that do not run alike. */
const RATE = 0.999;
/** Float noise must not turn a whole permit into 0.999. */
const EPSILON = 1e-6;
/** A time to look again is never nearer than this: one that rounds to now would be looked at for ever. */
const SHORTEST_LOOK_MS = 0.25;

export class QuotaModel {
  readonly #rpm: number | null;
  readonly #sends = new SendLog();
  readonly #spread = new LatencySpread();
  #inFlight = 0;
  #answers = 0;
  #silent = 0;
  /** The answered call that was sent last, and those that may have been decided after it. */
  #told: Told[] = [];
  /** Answers without headers: their calls count as spent until a later call is answered with some. */
  #lost: { readonly sentMs: number; readonly answeredMs: number }[] = [];
  /** When calls were sent that the service may not have counted: they were refused, or nothing is known of them. */
  #uncounted: number[] = [];
  #limit: number | null = null;
  /** The most permits the service was ever seen to have. */
  #capacity = 0;
  /** Until when the service is known to hold more, or less, than what we sent within a minute. */
  #othersUntil = -Infinity;
  #aboveRpmSeen = false;
  #misses = 0;
  /** Looks that saw nothing come back where a bucket would have gained something. */
  #flat = 0;
  #rises: number[] = [];
  /** Permits that came back before the stated reset: no fixed window does that. */
  #earlyRises = 0;
  /** An answer with which a call that is sent later is compared. */
  #anchor: Told | null = null;
  #small = false;
  /** The small bucket as it is at the service at worst: permits, and when. */
  #shadow = 0;
  #shadowMs = 0;
  /** When evenly spaced calls may go on, where no headers say more. */
  #evenMs = -Infinity;
  #catchUpMs = CATCH_UP_MS;
  #nextAt = 0;

  /** @param options.rpm requests a minute of the plan; null: unlimited */
  constructor(options: { readonly rpm: number | null }) {
    this.#rpm = options.rpm;
  }

  /** When `permits` should be asked again, as it found out last; Infinity: when the next answer comes. */
  get nextAt(): number {
    return this.#nextAt;
  }

  /** Whether headers have asked for pacing, so that an unlimited plan needs a gate after all. */
  get limited(): boolean {
    return this.#told.length > 0;
  }

  /** How long nothing may start by what the headers say; 0 while an answer that may change that is under way. */
  waitMs(nowMs: number): number {
    if (!this.limited || this.#inFlight > 0 || this.permits(nowMs) >= 1) return 0;
    return Math.max(0, this.#nextAt - nowMs);
  }

  /** Calls of an earlier run that the last window may still hold. */
  restore(calls: number, agoMs: number, nowMs: number): void {
    if (agoMs > MINUTE_MS + LONGEST_LAG_MS) return;
    for (let i = 0; i < calls; i++) this.#sends.add(nowMs - Math.max(0, agoMs), -Infinity);
  }

  /** Calls sent within the last minute. */
  spent(nowMs: number): number {
    return this.#sends.countAfter(nowMs - MINUTE_MS);
  }

  /** A call starts; returns its ticket. */
  sent(nowMs: number): number {
    this.#inFlight++;
    if (this.#rpm !== null) {
      this.#evenMs = Math.max(this.#evenMs, nowMs - this.#catchUpMs) + MINUTE_MS / this.#rpm;
      if (this.#sends.last === 0) this.#evenMs = nowMs + MINUTE_MS / this.#rpm;
    }
    if (this.#small) {
      this.#refillShadow(nowMs);
      this.#shadow--;
    }
    return this.#sends.add(nowMs, nowMs - (this.#rpm === null && !this.limited ? LONGEST_LAG_MS : MINUTE_MS + 2 * LONGEST_LAG_MS));
  }

  /**
   * The answer to a call, or its failure.
   * @param reading null: no answer, or one that says nothing of the quota
   * @param waitMs what a throttled answer asks for
   */
  answered(ticket: number, nowMs: number, reading: RateReading | null, throttled = false, waitMs: number | null = null): void {
    this.#inFlight--;
    this.#answers++;
    const sentMs = this.#sends.sentAt(ticket) ?? nowMs;
    this.#spread.add(nowMs - sentMs, nowMs);
    if (reading === null || !this.#sensible(reading)) {
      this.#silent++;
      if (this.#told.length > 0) {
        this.#lost.push({ sentMs, answeredMs: nowMs });
        this.#note(sentMs, nowMs);
      }
      // The limiter may hold no burst at all: what a timer was late is not made up for any more.
      if (throttled) this.#catchUpMs = 0;
      return;
    }
    this.#silent = 0;
    if (reading.unlimited) {
      this.#told = [];
      this.#lost = [];
      return;
    }
    this.#limit = reading.limit;
    const remaining = throttled ? 0 : (reading.remaining as number);
    const untilMs = nowMs + (throttled && waitMs !== null ? waitMs : reading.resetMs === null ? MINUTE_MS : reading.resetMs + reading.resetSlackMs);
    const notBeforeMs = throttled || reading.resetMs === null ? -Infinity : sentMs + reading.resetMs - reading.resetSlackMs;
    const told: Told = { ticket, sentMs, answeredMs: nowMs, remaining, notBeforeMs, untilMs };
    if (!throttled) {
      this.#capacity = Math.max(this.#capacity, remaining + 1);
      if (this.#rpm !== null && remaining >= this.#rpm) this.#aboveRpmSeen = true;
      this.#lookForRise(told);
      this.#lookForEarlyRise(told);
    } else {
      this.#note(sentMs, nowMs);
      // What was found out about the limiter may be wrong: it has to prove itself again.
      this.#small = false;
      this.#rises = [];
      this.#earlyRises = 0;
      this.#flat = 0;
      this.#anchor = told;
    }
    this.#lookForOthers(told);
    this.#remember(told);
  }

  /** How many calls may start now. */
  permits(nowMs: number): number {
    if (this.#told.length === 0 && this.#rpm === null) return Infinity;
    // The first call goes alone: its answer says what the next ones may.
    if (this.#answers === 0) return this.#inFlight === 0 ? 1 : this.#wait(Infinity);
    if (this.#told.length === 0 || this.#silent >= SILENT_ANSWERS) return this.#evenly(nowMs);
    let most = Infinity;
    if (this.#planBinds() && this.#rpm !== null) {
      most = this.#rpm - this.#sends.countAfter(nowMs - MINUTE_MS);
      if (most <= 0) return this.#wait(this.#sends.firstAfter(nowMs - MINUTE_MS) + MINUTE_MS, nowMs);
    }
    const known = this.#known(nowMs);
    const looks = this.#looks();
    if (known !== null && known > looks) return Math.min(most, known - looks);
    const again = known !== null && known >= 1 ? this.#lookAt() : Infinity;
    if (again <= nowMs) return 1;
    // What was seen to come back does so again; until then, and where they are a trifle, the last permits are for looking.
    const kept = this.#earlyRises < EARLY_RISES || this.#capacity >= LOOKS_COST_NOTHING_FROM ? looks : 0;
    const predicted = this.#predict(nowMs, 1 + kept) - kept;
    if (predicted >= 1) return Math.min(most, predicted);
    // The stated reset is over, and whatever was said before it: one call asks how things stand.
    if (known === null && this.#inFlight === 0) return this.#silent > 0 ? this.#evenly(nowMs) : 1;
    const resetMs = this.#inFlight === 0 ? this.#untilMs() : Infinity;
    return this.#wait(Math.min(again, resetMs, this.#nextAt), nowMs);
  }

  /** For a test's message: what the model goes by. */
  explain(nowMs: number): string {
    return `known ${this.#known(nowMs)}, in flight ${this.#inFlight}, predicted ${this.#predict(nowMs, 1)}, spread ${this.#spread.spreadMs.toFixed(1)}, capacity ${this.#capacity}, small ${this.#small}, told ${JSON.stringify(this.#told.at(0) ?? null)} of ${this.#told.length}`;
  }

  #wait(atMs: number, nowMs = 0): number {
    this.#nextAt = Math.max(atMs, nowMs + SHORTEST_LOOK_MS);
    return 0;
  }

  /** More left than the limit, or than any plan has, is nonsense. */
  #sensible(reading: RateReading): boolean {
    if (reading.unlimited) return true;
    return reading.remaining !== null && (reading.limit === null || reading.remaining <= reading.limit);
  }

  /** Another window's limit, or a user who chose a lower rate. */
  #planBinds(): boolean {
    return this.#rpm !== null && (this.#limit === null ? this.#aboveRpmSeen : this.#limit > this.#rpm);
  }

  /** Requests a minute at which permits come back at most; null: nobody says. */
  #rate(): number | null {
    // A limit no larger than what was seen at once may be a bucket's size, which says nothing of its rate.
    if (this.#rpm === null) return this.#limit;
    return this.#limit !== null && this.#limit < this.#rpm && this.#limit > this.#capacity ? this.#limit : this.#rpm;
  }

  #remember(told: Told): void {
    const ref = this.#told[0];
    if (ref !== undefined && told.ticket < ref.ticket) {
      // Decided after the reference, maybe: it was in flight when that was sent.
      if (told.sentMs > ref.sentMs - 2 * this.#spread.spreadMs && told.answeredMs > ref.sentMs) this.#told = [ref, ...this.#told.filter((other) => other !== ref && !outdone(other, told)), told];
      return;
    }
    const from = told.sentMs - 2 * this.#spread.spreadMs;
    this.#told = [told, ...this.#told.filter((other) => other.answeredMs > told.sentMs && other.sentMs > from && !outdone(other, told))];
    this.#lost = this.#lost.filter((other) => other.answeredMs > told.sentMs);
  }

  /** Permits left by what was said, less what is in flight; null: the stated reset is over. */
  #known(nowMs: number): number | null {
    const ref = this.#told[0];
    if (ref === undefined || ref.untilMs <= nowMs) return null;
    let least = Infinity;
    for (const told of this.#told) {
      // Of a window that was over before the reference's began: what was left of that says nothing of this one.
      const ofAnother = told.untilMs <= nowMs && ref.notBeforeMs - told.untilMs > MINUTE_MS / 2;
      if (!ofAnother) least = Math.min(least, told.remaining);
    }
    return least - this.#inFlight - this.#lost.length;
  }

  #untilMs(): number {
    let last = -Infinity;
    for (const told of this.#told) last = Math.max(last, told.untilMs);
    return last;
  }

  /** Permits that must have come back by now under every rule that is still possible, less what is in flight. Sets when there may be `needed`. */
  #predict(nowMs: number, needed: number): number {
    this.#nextAt = Infinity;
    const rate = this.#rate();
    if (rate === null || this.#told.length === 0) return 0;
    const perMs = (rate * RATE) / MINUTE_MS;
    const lag = this.#spread.spreadMs;
    const gone = this.#inFlight + this.#lost.length;
    let bucket = Infinity;
    let window = Infinity;
    let windowMost = Infinity;
    const expired = this.#sends.countAfter(nowMs - MINUTE_MS - lag);
    for (const told of this.#told) {
      bucket = Math.min(bucket, told.remaining + perMs * Math.max(nowMs - told.answeredMs, nowMs - told.sentMs - lag, 0));
      // A fixed window has forgotten at its beginning what now gets older than a minute: it gives nothing back for that.
      const back = this.#earlyRises < EARLY_RISES ? 0 : this.#countedBetween(told.sentMs - MINUTE_MS + lag, nowMs - MINUTE_MS - lag);
      window = Math.min(window, told.remaining + back);
      windowMost = Math.min(windowMost, told.remaining + this.#countedBetween(told.sentMs - MINUTE_MS - lag, nowMs - MINUTE_MS - lag));
    }
    if (this.#small) {
      this.#refillShadow(nowMs);
      const most = Math.min(bucket - gone, this.#shadow) + EPSILON;
      const speed = Math.min(perMs, this.#shadowRate().perMs);
      if (most < needed) this.#nextAt = nowMs + (needed - most) / speed;
      return Math.floor(most);
    }
    if (this.#limit !== null && this.#rpm !== null && this.#limit !== this.#rpm) return 0;
    bucket = this.#flat >= FLAT_LOOKS ? Infinity : Math.min(bucket, this.#capacity) - gone;
    window -= gone;
    // Nobody else is on the key: then a window holds what we sent and no more, and gives back what of that got too old.
    if (this.#othersUntil <= nowMs) window = Math.max(window, Math.min(rate - expired, windowMost - gone));
    const bucketAt = bucket + EPSILON >= needed ? nowMs : needed <= this.#capacity - gone ? nowMs + (needed - bucket) / perMs : Infinity;
    const windowAt = window >= needed ? nowMs : this.#sends.firstAfter(nowMs - MINUTE_MS - lag) + MINUTE_MS + lag;
    this.#nextAt = Math.max(bucketAt, windowAt);
    return Math.floor(Math.min(bucket + EPSILON, window));
  }

  #note(uncountedMs: number, nowMs: number): void {
    this.#uncounted = [...this.#uncounted.filter((at) => at > nowMs - MINUTE_MS - 2 * LONGEST_LAG_MS), uncountedMs];
  }

  /** Calls sent after one moment and up to another that the service surely counted. */
  #countedBetween(afterMs: number, upToMs: number): number {
    let count = this.#sends.countAfter(afterMs) - this.#sends.countAfter(upToMs);
    if (count > 0) for (const at of this.#uncounted) if (at > afterMs && at <= upToMs) count--;
    return Math.max(0, count);
  }

  /**
   * The rate and burst at which calls may be sent to a small bucket, so that they arrive in order for it however they
   * are delayed: n calls in t must not be more than capacity + rate * (t - spread).
   */
  #shadowRate(): { readonly perMs: number; readonly burst: number } {
    const perMs = ((this.#rate() ?? 0) * RATE) / MINUTE_MS;
    const lag = this.#spread.spreadMs;
    const burst = this.#capacity - perMs * lag;
    return burst >= 1 ? { perMs, burst } : { perMs: Math.min(perMs, this.#capacity / (1 / perMs + lag)), burst: 1 };
  }

  #refillShadow(nowMs: number): void {
    const { perMs, burst } = this.#shadowRate();
    this.#shadow = Math.min(burst, this.#shadow + perMs * Math.max(0, nowMs - this.#shadowMs));
    this.#shadowMs = Math.max(this.#shadowMs, nowMs);
  }

  #looks(): number {
    if (this.#small || this.#flat >= FLAT_LOOKS) return 0;
    return this.#capacity < Math.max(LOOKS_FROM_PERMITS, (this.#rate() ?? 0) * SMALL_SHARE) ? 0 : LOOKS;
  }

  /** When one of the permits that are kept back may be used; the last chance is before the stated reset. */
  #lookAt(): number {
    const ref = this.#told[0];
    const rate = this.#rate();
    if (ref === undefined || rate === null) return -Infinity;
    const lastChance = this.#untilMs() - 2 * this.#spread.maxMs - 2_000;
    if (this.#inFlight > 0) return Math.max(lastChance, ref.answeredMs + MINUTE_MS);
    const lastSent = this.#sends.sentAt(this.#sends.last) ?? -Infinity;
    return Math.min(Math.max(lastChance, ref.answeredMs), lastSent + ((LOOK_FOR_PERMITS * MINUTE_MS) / rate) * LOOK_BACKOFF ** this.#misses);
  }

  /** Whether permits have come back between the last two answers, when one call was sent after the other was answered. */
  #lookForRise(told: Told): void {
    const ref = this.#told[0];
    if (ref === undefined || told.ticket !== ref.ticket + 1 || this.#inFlight > 0 || told.sentMs < ref.answeredMs) return;
    const rise = told.remaining + 1 - ref.remaining;
    if (rise <= 0) {
      const perMs = (this.#rate() ?? 0) / MINUTE_MS;
      // A call that follows at once is no look: nothing can have come back since.
      if (this.#capacity < LOOKS_COST_NOTHING_FROM || (told.sentMs - ref.answeredMs) * perMs >= SEEN_PERMITS) this.#misses = Math.min(this.#misses + 1, 6);
      const gained = (told.sentMs - ref.sentMs - this.#spread.spreadMs) * perMs;
      if (gained >= SEEN_PERMITS && this.#othersUntil <= told.sentMs) this.#flat++;
      return;
    }
    this.#misses = 0;
    const lag = this.#spread.spreadMs;
    const expired = this.#sends.countAfter(ref.sentMs - MINUTE_MS - lag) - this.#sends.countAfter(told.sentMs - MINUTE_MS + lag);
    if (expired >= rise) return;
    if (told.sentMs < ref.notBeforeMs) this.#flat = 0;
    this.#rises = [...this.#rises.filter((at) => at > told.sentMs - RISES_WITHIN_MS), told.sentMs];
    const rate = this.#rate();
    if (!this.#small && this.#rises.length >= RISES && rate !== null && this.#capacity <= Math.max(1, rate * SMALL_SHARE)) {
      this.#small = true;
      this.#shadow = 0;
      this.#shadowMs = told.sentMs;
    }
  }

  /** A later decision that left no fewer permits, though it took one itself. */
  #lookForEarlyRise(told: Told): void {
    const anchor = this.#anchor;
    if (anchor !== null && told.sentMs < anchor.answeredMs) return;
    if (anchor !== null && told.remaining >= anchor.remaining && told.answeredMs < anchor.notBeforeMs) this.#earlyRises++;
    this.#anchor = told;
  }

  /**
   * What is spent, held against what we can have spent within a minute. More: somebody else is on the key. Less: the
   * service has forgotten calls before they were a minute old, as windows that are not ours and buckets do.
   */
  #lookForOthers(told: Told): void {
    const limit = this.#limit ?? this.#rpm;
    if (limit === null) return;
    const lag = this.#spread.spreadMs;
    const spent = limit - told.remaining;
    const most = this.#sends.countAfter(told.sentMs - MINUTE_MS - lag) - this.#sends.countAfter(told.sentMs + lag);
    const least = this.#sends.countAfter(told.sentMs - MINUTE_MS + lag) - this.#sends.countAfter(told.sentMs - lag);
    if (spent > most || spent < least) this.#othersUntil = told.answeredMs + OTHERS_FOR_MS;
  }

  /** Without headers the plan's rate alone rules: evenly, and never more of them in any minute. */
  #evenly(nowMs: number): number {
    const rpm = this.#rpm;
    if (rpm === null) return Infinity;
    // What is sent a minute apart may arrive closer than that.
    const minute = MINUTE_MS + this.#spread.spreadMs;
    const most = rpm - this.#sends.countAfter(nowMs - minute);
    if (most <= 0) return this.#wait(this.#sends.firstAfter(nowMs - minute) + minute, nowMs);
    if (nowMs < this.#evenMs) return this.#wait(this.#evenMs, nowMs);
    return Math.min(most, 1 + Math.floor(((Math.min(nowMs - this.#evenMs, this.#catchUpMs)) * rpm) / MINUTE_MS));
  }
}

/** Whether one answer bounds everything that the other does, and for longer. */
function outdone(other: Told, by: Told): boolean {
  return by.remaining <= other.remaining && by.sentMs >= other.sentMs && by.answeredMs >= other.answeredMs && by.untilMs >= other.untilMs;
}
