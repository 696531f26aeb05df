/**
 * The burst that refusals have shown. A service may permit a rate, and only a few calls at once (nginx `limit_req`, any small bucket), and
 * state neither. Until the first refusal that no header explains, nothing is held back. Then calls go at the rate, and never more at once
 * than the service has admitted. Pure: time is passed in.
 */
import { RefusalPace } from '../inference/refusal-pace.ts';
import { noPermits, UNLIMITED, type EndedCall, type Permits, type QuotaRule } from '../quota-rule.ts';
import type { SavedQuota } from '../saved-quota.ts';

/** Part of the admitted burst that is used: arrivals differ from sendings by the spread of latencies. */
const BURST_SHARE = 0.8;
/** Part of the rate that is used, so that a bucket gains a little between calls. */
const PACE = 0.99;
/** A refusal after this many admitted calls teaches nothing: a moment's delay on the way may bring any two calls together. */
const RARE_AFTER_CALLS = 1_000;
/** Delays of this time are made up for at first, so this many calls may go at once. Milliseconds. */
const CATCH_UP_MS = 100;
/** The pause after a refusal that does not say how long, where the service admits calls otherwise: its bucket fills again soon. */
const SHORT_PAUSE_MS = 1_000;
/** The same where one call came too early after this many admitted ones: a bucket of one call is full again at once. */
const ALONE_PAUSE_MS = 100;
const ALONE_AFTER_CALLS = 20;
/** A refusal with so short a pause costs little: after this many admitted calls it teaches nothing. */
const RARE_AT_SHORT_PAUSE = 250;
/** A service that asks to wait longer speaks of a longer window. */
const LONGEST_WAIT_MS = 60_000;
/** Calls are spaced exactly from this interval on. Shorter ones would keep a processor busy. */
const LEAST_EXACT_MS = 5;
/** Floating-point noise must not turn a whole permit into 0.999. */
const EPSILON = 1e-6;

export class LearntBurst implements QuotaRule {
  readonly keptMs = 0;
  readonly #periodMs: number;
  readonly #perMs: number;
  /** Calls at once; Infinity before the first refusal. */
  #burst = Infinity;
  readonly #refusalPace = new RefusalPace();
  /** Calls admitted since the last refusal. */
  #admittedSince = 0;
  /** Permits at `#atMs`. */
  #free = 0;
  #atMs = 0;
  #lastCall = 0;
  #lastAdmitted = 0;
  /** Calls that the service has admitted beyond its rate, by the order of their answers. */
  #admitted = 0;
  #admittedMs = 0;
  /**
   * The calls that left before the last refusal was known: their last number, the burst that they had (null when they teach nothing), and
   * the most that was admitted of them.
   */
  #flock: { readonly lastCall: number; readonly burst: number | null; admitted: number } = { lastCall: 0, burst: null, admitted: 0 };

  /** @param limit calls a period. @param periodMs a minute at most */
  constructor({ limit, periodMs }: { readonly limit: number; readonly periodMs: number }) {
    this.#periodMs = periodMs;
    this.#perMs = limit / periodMs;
  }

  /** Only calls that are a whole interval apart are admitted. */
  get isExact(): boolean {
    return this.#burst === 1 && 1 / this.#perMs >= LEAST_EXACT_MS;
  }

  get limited(): boolean {
    return this.#burst < Infinity;
  }

  permits(nowMs: number): Permits {
    if (this.#burst === Infinity) return UNLIMITED;
    const free = this.#freeAt(nowMs);
    const permits = Math.floor(free + EPSILON);
    if (permits >= 1) return { permits, atMs: nowMs, isKnown: true };
    return noPermits(Math.max(this.#atMs, nowMs) + (1 - free) / (this.#perMs * this.#pace), nowMs);
  }

  sent(callNumber: number, nowMs: number): void {
    this.#lastCall = callNumber;
    if (this.#burst === Infinity) return;
    this.#free = Math.max(0, this.#freeAt(nowMs) - 1);
    this.#atMs = Math.max(this.#atMs, nowMs);
  }

  /** A call that had to wait for a busy thread has left only now, so the next one follows later, too. */
  left(nowMs: number): void {
    if (this.isExact) this.#atMs = Math.max(this.#atMs, nowMs);
  }

  answered(call: EndedCall): void {
    const { callNumber, sentMs, throttled, failed } = call;
    if (throttled) {
      if (!statesUsedUp(call) && (call.waitMs ?? 0) <= LONGEST_WAIT_MS) this.#refused(call);
      return;
    }
    if (failed) return;
    this.#admitted = this.#admittedAt(sentMs) + 1;
    this.#admittedMs = Math.max(this.#admittedMs, sentMs);
    this.#lastAdmitted = Math.max(this.#lastAdmitted, callNumber);
    if (callNumber <= this.#flock.lastCall) this.#learn();
    else {
      this.#admittedSince++;
      this.#refusalPace.admitted();
    }
  }

  /** The burst only paces calls. */
  usedUp(): null {
    return null;
  }

  waiting(): null {
    return null;
  }

  /** A bucket fills within the period. A service that also refuses the probe of a pause has no such bucket. */
  pauseMs(): number {
    if (this.#lastAdmitted <= this.#flock.lastCall && this.#flock.lastCall > 0) return Infinity;
    if (this.#burst === 1 && this.#admittedSince >= ALONE_AFTER_CALLS) return ALONE_PAUSE_MS;
    return this.limited ? SHORT_PAUSE_MS : Math.max(SHORT_PAUSE_MS, this.#periodMs);
  }

  save(): Partial<SavedQuota> {
    return this.limited ? { bursts: [{ periodMs: this.#periodMs, burst: this.#burst, pace: this.#pace }] } : {};
  }

  /** Takes what the run before has learnt, at the beginning. */
  restore({ bursts = [] }: SavedQuota, nowMs: number): void {
    const learnt = bursts.find(({ periodMs }) => periodMs === this.#periodMs);
    if (learnt === undefined) return;
    this.#burst = Math.max(1, learnt.burst);
    this.#refusalPace.restore(learnt.pace);
    [this.#free, this.#atMs] = [1, nowMs];
  }

  /** The part of the rate that is used. */
  get #pace(): number {
    return this.#burst === 1 ? this.#refusalPace.share : PACE;
  }

  #freeAt(nowMs: number): number {
    return Math.min(this.#burst, this.#free + this.#perMs * this.#pace * Math.max(0, nowMs - this.#atMs));
  }

  #refused({ callNumber, sentMs, nowMs, waitMs }: EndedCall): void {
    if (callNumber > this.#flock.lastCall) {
      const rareAfter = waitMs !== null && waitMs <= ALONE_PAUSE_MS ? RARE_AT_SHORT_PAUSE : RARE_AFTER_CALLS;
      const teaches = !this.limited || this.#admittedSince < rareAfter;
      if (teaches && this.#burst === 1) this.#refusalPace.refused();
      this.#flock = { lastCall: this.#lastCall, burst: teaches ? this.#burst : null, admitted: this.#admittedAt(sentMs) };
      this.#admittedSince = 0;
    }
    this.#learn();
    // The pause fills the bucket of the service. Calls go at the rate from its end on, so that it never empties.
    [this.#free, this.#atMs] = [1, Math.max(this.#atMs, nowMs + (waitMs ?? 0))];
  }

  /**
   * Calls that went at once show the burst. Paced calls hardly show it, because the service may get them together all the same. So each
   * flock takes a call off at least, and leaves half at least.
   */
  #learn(): void {
    const flock = this.#flock;
    flock.admitted = Math.max(flock.admitted, this.#admitted);
    if (flock.burst === null) return;
    const half = Math.floor(Math.min(flock.burst, 1 + CATCH_UP_MS * this.#perMs) / 2);
    this.#burst = Math.max(1, Math.min(flock.burst - 1, Math.max(half, Math.floor(BURST_SHARE * flock.admitted))));
  }

  #admittedAt(ms: number): number {
    return Math.max(0, this.#admitted - this.#perMs * Math.max(0, ms - this.#admittedMs));
  }
}

/** Whether the headers of a refusal explain it: a quota has no permits left. */
function statesUsedUp({ reading, windows }: EndedCall): boolean {
  return reading?.remaining === 0 || windows.some(({ remaining }) => remaining <= 0);
}
