/**
 * What the service's limiter cannot be, by what its answers have shown. Nothing is guessed: each kind stays possible
 * until something was seen that it does not do.
 *
 * - A fixed window gives nothing back before its stated reset, and states the same one until it is over.
 * - A sliding window forgets no call before it is a minute old.
 * - A bucket gains no more, and while it is not full no less, than its rate.
 *
 * Pure: time is passed in.
 */
import type { CallLog } from './call-log.ts';
import type { Latencies } from './latencies.ts';
import { Neighbours } from './neighbours.ts';
import { MINUTE_MS, type Told } from './told-answers.ts';

/** So many times has something to be seen: one reset in an unknown unit, or one call that was not counted, must not decide. */
const TIMES = 3;
/** So many looks that saw nothing come back refute a bucket. */
const FLAT_LOOKS = 2;
/** A look that sees nothing counts when a bucket would have gained so many permits. */
export const SEEN_PERMITS = 2;
/** A service that never holds more than this share of a minute's quota may be a small bucket. */
export const SMALL_SHARE = 0.2;
const RISES_WITHIN_MS = 55_000;
/** So many refusals in a row, with no answer between them: the small bucket is something else. */
const REFUSALS = 3;
/** Calls that were not counted matter as long as a window reaches, and as calls may lag. */
const KEPT_MS = 2 * MINUTE_MS;

/** A window is doubted when less than this share of what it should have given back is there; beside others it may be less. */
const GIVEN_BACK = 0.5;
const LEFT_BY_OTHERS = 0.25;
/** For whole permits, at both ends. */
const DOUBTED = 2;
/** So many calls that were given back as reckoned prove it. */
const CONVINCING = 10;
const MOST_TRUST = 1_000_000;
const MOST_PATIENCE = 8;
const PATIENCE_WANES = 0.95;
/** What a bucket gains is measured over so long. */
const GAIN_OVER_MS = 10_000;
/** What is counted on stays below the rate by this much, for clocks that do not run alike. */
const RATE = 0.999;

interface Uncounted { readonly sentMs: number; readonly answeredMs: number }

export class Evidence {
  readonly #rpm: number | null;
  readonly #log: CallLog;
  readonly #latencies: Latencies;
  /** What the service says it permits in a window; null: it does not say. */
  #limit: number | null = null;
  #capacity = 0;
  #aboveRpm = false;
  #earlyRises = 0;
  #movedResets = 0;
  #forgotten = 0;
  #fastRises = 0;
  #flatLooks = 0;
  #rises: readonly number[] = [];
  #small = false;
  #refusals = 0;
  readonly #neighbours = new Neighbours();
  /** Calls that the service may not have counted: they were refused, or nothing is known of them. */
  #uncounted: readonly Uncounted[] = [];
  /** An answer with which that of a call sent after it is compared. */
  #anchor: Told | null = null;
  #trust = 1;
  /** What was reckoned was refused once: from then on trust has to be earned call by call. */
  #wasWrong = false;
  #patience = 1;
  #slowGains = 0;
  #gainFrom: Told | null = null;
  /** The first answer that stated the reset which is held to be the window's. */
  #stated: Told | null = null;

  /** @param rpm requests a minute of the plan; null: unlimited */
  constructor(rpm: number | null, log: CallLog, latencies: Latencies) {
    this.#rpm = rpm;
    this.#log = log;
    this.#latencies = latencies;
  }

  /** The most permits the service was ever seen to have. */
  get capacity(): number {
    return this.#capacity;
  }

  /** Requests a minute at which permits come back at most; null: nobody says. */
  get rate(): number | null {
    // A limit no larger than what was seen at once may be a bucket's size, which says nothing of its rate.
    if (this.#rpm === null) return this.#limit;
    return this.#limit !== null && this.#limit < this.#rpm && this.#limit > this.#capacity ? this.#limit : this.#rpm;
  }

  /** The same, a millisecond, and a little less. */
  get perMs(): number {
    return ((this.rate ?? 0) * RATE) / MINUTE_MS;
  }

  /** The plan allows less than the service: the limit is another window's, or the user chose a lower rate. */
  get planBinds(): boolean {
    return this.#rpm !== null && (this.#limit === null ? this.#aboveRpm : this.#limit > this.#rpm);
  }

  /** The limit is that of another window than a minute. */
  get otherWindow(): boolean {
    return this.#limit !== null && this.#rpm !== null && this.#limit !== this.#rpm;
  }

  get fixed(): boolean {
    return this.#earlyRises < TIMES && this.#movedResets < TIMES;
  }

  get sliding(): boolean {
    return this.#forgotten < TIMES;
  }

  get bucket(): boolean {
    return this.#flatLooks < FLAT_LOOKS && this.#fastRises < TIMES && this.#slowGains < TIMES;
  }

  /** A bucket that holds next to nothing never has anything left to show: known by permits that come back again and again, sooner than windows could give them. */
  get small(): boolean {
    return this.#small;
  }

  /** Somebody else is, or was a while ago, on the key. */
  others(nowMs: number): boolean {
    return this.#neighbours.present(nowMs);
  }

  /** So many calls may be in flight that are only reckoned to have a permit: one at first, and soon any number while what comes back is what was reckoned. */
  get trust(): number {
    return this.#trust;
  }

  /** How much longer than usual to wait beside others before asking, by how they left nothing of late. */
  get patience(): number {
    return this.#patience;
  }

  /** So many permits others are likely to take while a call is under way. */
  reserved(nowMs: number): number {
    return this.#neighbours.taking(nowMs, this.#latencies.maxMs);
  }

  /** How many calls that were sent after one moment and answered up to another the service surely counted. */
  countedWithin(sentAfterMs: number, answeredUpToMs: number): number {
    let count = this.#log.within(sentAfterMs, answeredUpToMs);
    if (count > 0) for (const { sentMs, answeredMs } of this.#uncounted) if (sentMs > sentAfterMs && answeredMs <= answeredUpToMs) count--;
    return Math.max(0, count);
  }

  /** Nothing is known of a call, or it was refused. */
  uncounted(sentMs: number, answeredMs: number): void {
    this.#uncounted = [...this.#uncounted.filter((call) => call.answeredMs > answeredMs - KEPT_MS), { sentMs, answeredMs }];
  }

  /** A call that was sent on what was known was refused: somebody else has taken the permit. */
  takenByOthers(nowMs: number): void {
    if (!this.#neighbours.noticed(nowMs)) return;
    // What seemed not to come back may have been taken by them before they were noticed.
    this.#flatLooks = 0;
    this.#slowGains = 0;
  }

  /** A call was refused. @param reckoned it was only reckoned to have a permit */
  refused(told: Told, reckoned: boolean): void {
    if (reckoned && this.#wasWrong) this.takenByOthers(told.answeredMs);
    if (reckoned) this.#wasWrong = true;
    this.uncounted(told.sentMs, told.answeredMs);
    this.#anchor = told;
    this.#refusals++;
    this.#trust = 1;
    this.#patience = Math.min(2 * this.#patience, MOST_PATIENCE);
    // What was found out by looks may be wrong: it has to prove itself again.
    if (!this.others(told.answeredMs)) this.#flatLooks = 0;
    if (this.#small && this.#refusals < REFUSALS) return;
    this.#small = false;
    this.#rises = [];
  }

  /** A call was answered. @param reckoned it was only reckoned to have a permit; @param alone nothing else was in flight while it was; @param before the answer before it */
  answered(told: Told, limit: number | null, before: Told | undefined, reckoned: boolean, alone: boolean): void {
    this.#limit = limit;
    this.#refusals = 0;
    this.#capacity = Math.max(this.#capacity, told.remaining + 1);
    if (this.#rpm !== null && told.remaining >= this.#rpm) this.#aboveRpm = true;
    if (reckoned) {
      this.#trust++;
      this.#patience = Math.max(PATIENCE_WANES * this.#patience, 1);
    }
    this.#compare(told);
    this.#compareResets(told);
    this.#compareGain(told);
    this.#neighbours.measure(told);
    if (before !== undefined && alone) this.#look(told, before);
    this.#addUp(told);
  }

  /** With the answer before which this call was not sent yet, so that their order is known. */
  #compare(told: Told): void {
    const anchor = this.#anchor;
    if (anchor !== null && told.sentMs < anchor.answeredMs) return;
    this.#anchor = told;
    if (anchor === null) return;
    // It took one itself.
    if (told.remaining >= anchor.remaining && told.answeredMs < anchor.notBeforeMs) this.#earlyRises++;
    const taken = this.#log.within(anchor.answeredMs, told.sentMs + this.#latencies.leastMs) + 1;
    const gain = ((this.rate ?? 0) / MINUTE_MS) * (told.answeredMs - anchor.sentMs - this.#latencies.leastMs) + 2;
    if (told.remaining + taken - anchor.remaining > gain) this.#fastRises++;
    this.#doubt(told, anchor);
  }

  /** Whether a window has given back what of our calls got too old. If not, it reckons in another way. */
  #doubt(told: Told, anchor: Told): void {
    const { leastMs } = this.#latencies;
    const back = this.countedWithin(anchor.answeredMs - leastMs - MINUTE_MS, told.sentMs + leastMs - MINUTE_MS);
    if (back === 0) return;
    const share = this.others(told.answeredMs) ? LEFT_BY_OTHERS : GIVEN_BACK;
    if (told.remaining + DOUBTED < anchor.remaining + share * back - this.#taken(anchor, told)) this.#trust = 1;
    else if (back >= CONVINCING && !this.#wasWrong) this.#trust = MOST_TRUST;
  }

  /** A bucket that is not full gains no less than its rate. */
  #compareGain(told: Told): void {
    const from = this.#gainFrom;
    if (from !== null && told.sentMs < from.answeredMs + GAIN_OVER_MS) return;
    this.#gainFrom = told;
    if (from === null || this.others(told.answeredMs)) return;
    const gain = this.perMs * (told.sentMs - from.answeredMs + this.#latencies.leastMs);
    if (from.remaining + gain >= this.#capacity) return;
    if (told.remaining + DOUBTED < from.remaining + gain - this.#taken(from, told)) this.#slowGains++;
  }

  /** Permits that our own calls can have taken between two answers, at most. */
  #taken(from: Told, to: Told): number {
    const { leastMs } = this.#latencies;
    return this.#log.unansweredAt(from.sentMs + leastMs) - this.#log.sentAfter(to.answeredMs - leastMs);
  }

  /** Whether the reset that was stated is not the same any more, though that is not over yet; or the next is less than a window after it. */
  #compareResets(told: Told): void {
    const stated = this.#stated;
    if (told.notBeforeMs === -Infinity) return;
    if (stated === null) {
      this.#stated = told;
      return;
    }
    const over = told.sentMs > stated.untilMs;
    if (!over && told.answeredMs >= stated.notBeforeMs) return;
    const least = over ? stated.notBeforeMs + MINUTE_MS : stated.notBeforeMs;
    const most = over ? Infinity : stated.untilMs;
    if (told.untilMs < least || told.notBeforeMs > most) this.#movedResets++;
    else if (!over) return;
    this.#stated = told;
  }

  /** Whether permits have come back between two answers, when one call was sent after the other was answered and nothing else. */
  #look(told: Told, before: Told): void {
    const rise = told.remaining + 1 - before.remaining;
    const { spreadMs } = this.#latencies;
    if (rise <= 0) {
      const gained = (told.sentMs - before.sentMs - spreadMs) * this.perMs;
      if (gained >= SEEN_PERMITS && !this.others(told.sentMs)) this.#flatLooks++;
      return;
    }
    const expired = this.#log.sentAfter(before.sentMs - MINUTE_MS - spreadMs) - this.#log.sentAfter(told.sentMs - MINUTE_MS + spreadMs);
    if (expired >= rise) return;
    if (told.sentMs < before.notBeforeMs) this.#flatLooks = 0;
    this.#rises = [...this.#rises.filter((at) => at > told.sentMs - RISES_WITHIN_MS), told.sentMs];
    if (this.#rises.length >= TIMES && this.rate !== null && this.#capacity <= Math.max(1, this.rate * SMALL_SHARE)) this.#small = true;
  }

  /** What is spent, held against what we have spent within a minute: more, and somebody else is on the key; less, and the service has forgotten some. */
  #addUp(told: Told): void {
    const limit = this.#limit ?? this.#rpm;
    if (limit === null) return;
    const spent = limit - told.remaining;
    const { leastMs } = this.#latencies;
    const most = this.#log.unansweredAt(told.sentMs + leastMs - MINUTE_MS) - this.#log.sentAfter(told.answeredMs - leastMs);
    if (spent > most) this.takenByOthers(told.answeredMs);
    if (spent < this.countedWithin(told.answeredMs - leastMs - MINUTE_MS, told.sentMs + leastMs)) this.#forgotten++;
  }
}
