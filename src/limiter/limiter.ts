import Bottleneck from 'bottleneck';
import type { LimiterOptions } from './limiter-options.ts';
import { QuotaModel, type Later, type Spent } from './quota-model.ts';
import { PlanShare } from './plan-share.ts';
import { AnswerReader } from './answer-reader.ts';
import { windowWords } from './long-window.ts';
import { QuotaWindows } from './quota-windows.ts';
import type { Headers, RateReading } from './rate-headers.ts';
import { SharedQuota } from './shared/shared-quota.ts';
import type { Wait } from '../waits.ts';

export type { LimiterOptions, ThrottledWait } from './limiter-options.ts';

/** The right to start one call: its number, from 1. 0: no right, the limiter was stopped. */
export type Ticket = number;

export interface ObservedAnswer {
  readonly ticket: Ticket;
  readonly headers: Headers;
  readonly throttled: boolean;
  /** The call came to nothing: no answer, or one that says that the service failed. */
  readonly failed?: boolean;
  /** What a throttled answer asked for; null: it did not say. */
  readonly retryAfterMs: number | null;
}

/** Up to this rate each call is a lease of its own, so the gate is exact; above it Bottleneck's 370 calls a second would bind. */
const EXACT_UP_TO_RPM = 6_000;
/** What an unlimited plan is reckoned at when headers ask for a gate after all. */
const MOST_RPM = 600_000;
/** Leases a second above that. */
const LEASES_PER_SECOND = 20;
/** A service that says "throttled" and nothing else is left alone for this long. */
const DEFAULT_THROTTLE_MS = 5_000;
/** And one that says "throttled, but come at once" for this long: otherwise both would be kept busy with nothing else. */
const SHORTEST_THROTTLE_MS = 250;
/** A wall clock that was set back by more than this would make Bottleneck wait until it has caught up: it is replaced. */
const CLOCK_STEP_MS = 250;
/** The same when the clock is set back while Bottleneck is at work: a lease takes milliseconds, and one that takes so long is given up. */
const LONGEST_LEASE_MS = 1_000;
/** A wait for permits that is shorter than this is pacing, and no pause to tell the user of. */
const SHORTEST_PAUSE_MS = 1_000;
/** The longest delay a timer takes; a longer pause is waited for in parts. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * When a call may start. The quota model says how many may, by what the service's answers say; Bottleneck is the gate
 * that holds the permits: it hands them out in leases of k, and only those that the model has put in.
 * A pause (429) holds everything, permits in hand included. After it one call goes first: only when that is answered
 * otherwise do the others follow, so that a service which goes on saying "later" is asked by one call each time.
 */
export class Limiter {
  readonly #options: LimiterOptions;
  readonly #model: QuotaModel | PlanShare | SharedQuota;
  readonly #reader: AnswerReader;
  /** Windows beside the model's: seconds, hours, days. */
  readonly #windows: QuotaWindows;
  /** When calls in flight were sent, while there are windows to keep. */
  readonly #sentAt = new Map<Ticket, number>();
  /** None on an unlimited plan, until the service's headers ask for one. */
  #gate: Bottleneck | null;
  readonly #leaseSize: number;
  /** Wall clock less monotonic clock, when the gate was last asked. */
  #wallOffset: number;
  #permits = 0;
  /** Gives the lease under way up when it takes too long; null: none is under way. */
  #leaseTimer: NodeJS.Timeout | null = null;
  #pausedUntil = 0;
  /** How long the wait was that was asked for last. */
  #pausedForMs = 0;
  /** The last call that left before the service was known to throttle. */
  #lastBefore: Ticket = 0;
  /** After a wait one call goes first, to see whether it is over: its ticket; 0: it is due; null: not needed. */
  #scout: Ticket | null = null;
  #lastGranted: Ticket = 0;
  #pauseTimer: NodeJS.Timeout | null = null;
  /** When the model is asked again, without an answer that would be a reason to. */
  #lookTimer: NodeJS.Timeout | null = null;
  #lookAt = Infinity;
  #waiters: ((ticket: Ticket) => void)[] = [];
  #head = 0;
  #isHeld = false;
  #stopped = false;

  constructor(options: LimiterOptions) {
    this.#options = options;
    const { spent = null, shared = null, share = 1, windows = [] } = options;
    this.#reader = new AnswerReader(options);
    this.#windows = new QuotaWindows(windows);
    const part = options.rpm !== null && shared === null && share < 1 ? new PlanShare({ rpm: options.rpm, part: share }) : null;
    const rpm = part?.rpm ?? options.rpm;
    this.#leaseSize = rpm !== null && rpm <= EXACT_UP_TO_RPM ? 1 : Math.max(1, Math.floor((rpm ?? MOST_RPM) / 60 / LEASES_PER_SECOND));
    this.#model = shared ?? part ?? new QuotaModel({ rpm });
    if (spent?.windows !== undefined) this.#windows.restore(spent.windows, options.monotonicNow(), options.wallNow());
    this.#gate = rpm === null && !this.#windows.active ? null : newGate();
    this.#wallOffset = options.wallNow() - options.monotonicNow();
    // A clock that was set back since must not make the calls older than they are.
    if (spent !== null) this.#model.restore(spent.calls, Math.max(0, options.wallNow() - spent.lastAtMs), options.monotonicNow());
    if (spent?.later !== undefined) this.#goOnWaiting(spent.later);
    shared?.start(() => (this.#pauseTimer === null && !this.#isHeld ? this.#waiters.length - this.#head : 0), () => this.#serve());
  }

  /** Resolves to a ticket when one call may start now, to 0 when the limiter was stopped. Callers are served in order. */
  take(): Ticket | Promise<Ticket> {
    if (this.#stopped) return 0;
    if (this.#waiters.length === this.#head && this.#mayStart()) return this.#grant();
    return new Promise((resolve) => {
      this.#waiters.push(resolve);
      this.#serve();
    });
  }

  /** Every answered call reports here, whatever it came to. */
  observe(answer: ObservedAnswer): void {
    const now = this.#options.monotonicNow();
    const { headers, reading, windows } = this.#reader.read(answer, now);
    this.#windows.answered(answer.ticket, this.#sentAt.get(answer.ticket) ?? null, windows, now);
    this.#sentAt.delete(answer.ticket);
    const usedUp = answer.throttled ? this.#windows.usedUpBy(windows) : null;
    const throttleMs = answer.throttled ? Math.max(SHORTEST_THROTTLE_MS, answer.retryAfterMs ?? usedUp ?? reading?.resetMs ?? DEFAULT_THROTTLE_MS) : null;
    if (this.#model instanceof SharedQuota) this.#model.answered({ ...answer, headers }, now, reading, throttleMs);
    else this.#model.answered(answer.ticket, now, reading, answer.throttled, throttleMs, answer.failed ?? false);
    if (answer.ticket === this.#scout) this.#scout = null;
    if (throttleMs !== null) this.#pause(throttleMs, answer.ticket);
    if (this.#gate === null && (this.#model.limited || this.#windows.active)) this.#gate = newGate();
    this.#serve();
  }

  /** Milliseconds until calls may start again; 0 when they may, or when it is only a matter of pacing. */
  pausedMs(): number {
    const now = this.#options.monotonicNow();
    const waitMs = Math.max(this.#model.waitMs(now), (this.usedUp()?.untilMs ?? now) - now);
    return Math.max(this.throttledMs(), waitMs < SHORTEST_PAUSE_MS ? 0 : waitMs);
  }

  /** Of these, those that the service asked for by a throttled answer. */
  throttledMs(): number {
    return Math.max(0, this.#pausedUntil - this.#options.monotonicNow());
  }

  /** The window that is used up, in words, and until when (monotonic milliseconds); null: each has something left, or an answer may change that. */
  usedUp(): { readonly what: string; readonly untilMs: number } | null {
    const usedUp = this.#windows.usedUp(this.#options.monotonicNow());
    return usedUp === null ? null : { what: windowWords(usedUp), untilMs: usedUp.untilMs };
  }

  /** What its callers wait for; null: none waits, or only for the answer to a call that is under way, or for what holds calls. */
  waiting(): Wait | null {
    if (this.#stopped || this.#isHeld || this.#head === this.#waiters.length) return null;
    if (this.#pauseTimer !== null) return { reason: 'throttled', what: 'the end of the pause that the service asked for', untilMs: this.#pausedUntil };
    if (this.#scout !== null && this.#scout > 0) return null;
    const wait = this.#model.waiting(this.#options.monotonicNow());
    const usedUp = this.usedUp();
    if (usedUp === null || (wait?.untilMs ?? 0) > usedUp.untilMs) return wait;
    return { reason: 'quota', what: `the ${usedUp.what}, which is used up`, untilMs: usedUp.untilMs };
  }

  /** Calls that may start at once; 0 where nothing bounds them, or others share the quota. */
  get burst(): number {
    const permits = this.#model instanceof SharedQuota || this.throttledMs() > 0 ? 0 : this.#model.permits(this.#options.monotonicNow());
    return Number.isFinite(permits) ? permits : 0;
  }

  /** What the newest answer with quota headers has said, as far as it says it; null: there was none. */
  get stated(): Pick<RateReading, 'limit' | 'remaining'> | null {
    return this.#reader.stated;
  }

  /** Requests that the service offered beyond the plan's rate; 0 where the quota is shared, or a part of it is this run's. */
  beyondPlan(): number {
    return this.#model instanceof QuotaModel ? this.#model.beyondPlan(this.#options.monotonicNow()) : 0;
  }

  /** What the last window has spent, and what wait is not known to be over, to be given to the next run. */
  spent(): Spent {
    const [now, lastAtMs] = [this.#options.monotonicNow(), this.#options.wallNow()];
    const later = this.#scout === null ? {} : { later: { untilMs: lastAtMs + this.#pausedUntil - now, forMs: this.#pausedForMs } };
    const windows = this.#windows.keep(now, lastAtMs);
    return { calls: this.#model.spent(now), lastAtMs, ...later, ...(windows.length === 0 ? {} : { windows }) };
  }

  /** After `stop`, when every call was answered: what is shared is told, and let go of. */
  async close(): Promise<void> {
    await this.#options.shared?.close();
  }

  /** Grants nothing more; who waits is told so. */
  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#options.shared?.stop();
    if (this.#pauseTimer !== null) clearTimeout(this.#pauseTimer);
    this.#lookNoMore();
    this.#leaseEnds();
    const waiting = this.#waiters.slice(this.#head);
    this.#waiters = [];
    this.#head = 0;
    for (const waiter of waiting) waiter(0);
    await this.#gate?.stop({ dropWaitingJobs: true });
  }

  /** The model is asked once more: since the lease began it may have heard of a neighbour. */
  #mayStart(): boolean {
    if (this.#pauseTimer !== null || (this.#scout !== null && this.#scout > 0)) return false;
    const isPermitted = this.#gate === null || (this.#permits > 0 && this.#permitted(this.#options.monotonicNow()) >= 1);
    return isPermitted && !this.#mustHold();
  }

  /** Whether a call could not leave, though it is permitted. Serves again when it can. */
  #mustHold(): boolean {
    if (this.#isHeld) return true;
    const held = this.#options.held?.() ?? null;
    if (held === null) return false;
    this.#isHeld = true;
    const goOn = (): void => {
      this.#isHeld = false;
      this.#serve();
    };
    held.then(goOn, goOn);
    return true;
  }

  /** What the model permits, and every window. */
  #permitted(now: number): number {
    const permits = this.#model.permits(now);
    return this.#windows.active ? Math.min(permits, this.#windows.permits(now)) : permits;
  }

  #grant(): Ticket {
    const now = this.#options.monotonicNow();
    const ticket = this.#model.sent(now);
    this.#windows.sent(ticket, now);
    if (this.#windows.active) this.#sentAt.set(ticket, now);
    this.#lastGranted = ticket;
    if (this.#scout === 0) this.#scout = ticket;
    if (this.#gate !== null && --this.#permits === 0) this.#lease();
    return ticket;
  }

  #serve(): void {
    while (this.#head < this.#waiters.length && this.#mayStart()) {
      const waiter = this.#waiters[this.#head++];
      if (this.#head > 1_024) {
        this.#waiters = this.#waiters.slice(this.#head);
        this.#head = 0;
      }
      waiter?.(this.#grant());
    }
    if (this.#head < this.#waiters.length && this.#pauseTimer === null) this.#lease();
  }

  /** Puts what the model permits into the gate and takes it out as a lease; or looks again when there may be some. */
  #lease(): void {
    const gate = this.#gate;
    if (gate === null || this.#leaseTimer !== null || this.#stopped) return;
    const permits = this.#permitted(this.#options.monotonicNow());
    if (permits < 1) {
      this.#lookAgain();
      return;
    }
    if (this.#permits > 0) return;
    const k = Math.min(permits, this.#leaseSize);
    const lease = this.#mindTheClock(gate);
    this.#leaseTimer = setTimeout(() => {
      this.#leaseEnds();
      this.#renewGate(lease);
      this.#serve();
    }, LONGEST_LEASE_MS);
    void lease.incrementReservoir(k);
    lease.schedule({ weight: k }, () => Promise.resolve()).then(
      () => {
        // Given up meanwhile: what was leased there is the new gate's to lease again.
        if (this.#gate !== lease || this.#stopped) return;
        this.#leaseEnds();
        this.#permits += k;
        this.#serve();
      },
      () => {
        // Dropped by stop(), of the limiter or of a gate that was given up: nobody waits for it.
      },
    );
  }

  #leaseEnds(): void {
    if (this.#leaseTimer !== null) clearTimeout(this.#leaseTimer);
    this.#leaseTimer = null;
  }

  #lookAgain(): void {
    const now = this.#options.monotonicNow();
    // Whichever of the two binds; each is asked again then.
    const ofModel = this.#model.permits(now) >= 1 ? now : this.#model.nextAt;
    const at = this.#windows.active ? Math.max(ofModel, this.#windows.nextAt(now)) : ofModel;
    if (this.#lookTimer !== null && this.#lookAt === at) return;
    this.#lookNoMore();
    if (at === Infinity || this.#head === this.#waiters.length) return;
    this.#lookAt = at;
    // On a busy machine that may be over by now.
    const leftMs = Math.max(0, Math.ceil(at - this.#options.monotonicNow()));
    this.#lookTimer = setTimeout(() => {
      this.#lookTimer = null;
      this.#serve();
    }, Math.min(leftMs, LONGEST_TIMER_MS));
  }

  #lookNoMore(): void {
    if (this.#lookTimer !== null) clearTimeout(this.#lookTimer);
    this.#lookTimer = null;
  }

  /** Nothing waits in the gate when this is called, so that a new one can take its place. */
  #mindTheClock(gate: Bottleneck): Bottleneck {
    const offset = this.#options.wallNow() - this.#options.monotonicNow();
    const wasSetBack = offset < this.#wallOffset - CLOCK_STEP_MS;
    this.#wallOffset = offset;
    return wasSetBack ? this.#renewGate(gate) : gate;
  }

  #renewGate(old: Bottleneck): Bottleneck {
    void old.stop({ dropWaitingJobs: true }).catch(() => undefined);
    return (this.#gate = newGate());
  }

  #pause(ms: number, ticket: Ticket): void {
    const untilMs = this.#options.monotonicNow() + ms;
    // 429s come in flocks, the last of them maybe after the wait that the first one asked for: all of a flock left before it.
    const isNew = ticket > this.#lastBefore;
    if (isNew) this.#lastBefore = this.#lastGranted;
    this.#scout ??= 0;
    if (!this.#stopped && (isNew || untilMs > this.#pausedUntil)) this.#options.onThrottled?.({ untilMs, isNew });
    if (untilMs <= this.#pausedUntil) return;
    this.#pausedUntil = untilMs;
    this.#pausedForMs = ms;
    // It is the next run that waits.
    if (this.#stopped) return;
    if (this.#pauseTimer !== null) clearTimeout(this.#pauseTimer);
    this.#waitOutPause();
  }

  /** The run before was to wait. A clock that was set back since must not make that longer. */
  #goOnWaiting({ untilMs, forMs }: Later): void {
    this.#scout = 0;
    this.#pausedForMs = forMs;
    const leftMs = Math.min(untilMs - this.#options.wallNow(), forMs);
    if (leftMs <= 0) return;
    this.#pausedUntil = this.#options.monotonicNow() + leftMs;
    this.#options.onThrottled?.({ untilMs: this.#pausedUntil, isNew: false });
    this.#waitOutPause();
  }

  /** A timer may fire a little early, and waits for 24 days at most: it looks again. */
  #waitOutPause(): void {
    const leftMs = this.#pausedUntil - this.#options.monotonicNow();
    this.#pauseTimer = setTimeout(() => {
      if (this.#pausedUntil > this.#options.monotonicNow()) {
        this.#waitOutPause();
        return;
      }
      this.#pauseTimer = null;
      this.#serve();
    }, Math.min(Math.ceil(leftMs), LONGEST_TIMER_MS));
  }
}

/** Empty: what goes in is what the model permits. No minTime, which would be a second pacer. */
function newGate(): Bottleneck {
  return new Bottleneck({ reservoir: 0 });
}
