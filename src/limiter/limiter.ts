import type { Wait } from '../util/waits.ts';
import { AnswerReader } from './answer-reader.ts';
import { Gate } from './gate.ts';
import type { RateReading } from './inference/rate-reading.ts';
import type { AnsweredCall, LimiterOptions } from './limiter-options.ts';
import { pauseOf, ThrottlePause } from './pause.ts';
import type { CallNumber, UsedUp } from './quota-rule.ts';
import type { QuotaRules } from './quota-rules.ts';
import { makeRules } from './rules/make-rules.ts';
import type { SavedQuota } from './saved-quota.ts';

export type { PauseCause } from './saved-quota.ts';
export type { AnsweredCall, LimiterOptions, ThrottledWait } from './limiter-options.ts';
export type { CallNumber } from './quota-rule.ts';

/** Up to this rate a lease has one permit, so that the gate is exact. Above it, Bottleneck's 370 leases a second would be too few. */
const EXACT_UP_TO_RPM = 6_000;
/** The rate that is assumed for an unlimited plan whose headers ask for a gate after all. */
const MAX_RPM = 600_000;
/** Leases a second above `EXACT_UP_TO_RPM`. */
const LEASES_PER_SECOND = 20;
/** A shorter wait for permits is pacing, not a pause that the user should see. */
const MIN_REPORTED_PAUSE_MS = 1_000;
/** The longest delay that a timer takes. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** A timer may fire this much late or early. */
const TIMER_ERROR_MS = 1;

interface Recheck {
  readonly atMs: number;
  readonly timer: NodeJS.Timeout | null;
}

/**
 * Decides when a call may start. The rules count the permits, by what the service's answers state and the job says. The gate hands
 * them out in leases. A throttled answer (429) pauses every call, see `ThrottlePause`.
 */
export class Limiter {
  readonly #options: LimiterOptions;
  readonly #rules: QuotaRules;
  readonly #reader: AnswerReader;
  readonly #pause: ThrottlePause;
  /** null on an unlimited plan, until the service's headers state a quota. */
  #gate: Gate | null;
  readonly #leaseSize: number;
  /** Permits in hand. */
  #permits = 0;
  /** Asks the rules again at the time that they named. */
  #recheck: Recheck | null = null;
  #waiters: ((callNumber: CallNumber) => void)[] = [];
  #head = 0;
  #isBlocked = false;
  #stopped = false;

  constructor(options: LimiterOptions) {
    this.#options = options;
    const { restored = null } = options;
    const { rules, rpm } = makeRules(options);
    this.#rules = rules;
    this.#reader = new AnswerReader(options);
    this.#pause = new ThrottlePause(options, () => this.#serve());
    this.#leaseSize = rpm !== null && rpm <= EXACT_UP_TO_RPM ? 1 : Math.max(1, Math.floor((rpm ?? MAX_RPM) / 60 / LEASES_PER_SECOND));
    if (restored !== null) rules.restore(restored, options.monotonicNow(), options.wallNow());
    if (restored?.later !== undefined) this.#pause.restore(restored.later);
    this.#gate = rules.limited ? this.#newGate() : null;
    rules.start({
      waiting: () => (this.#pause.isPaused || this.#isBlocked ? 0 : this.#waiting),
      onPermits: () => this.#serve(),
    });
  }

  /** Resolves to a number when one call may start now, or to 0 when the limiter was stopped. Callers are served in order. */
  take(): CallNumber | Promise<CallNumber> {
    if (this.#stopped) return 0;
    const now = this.#options.monotonicNow();
    if (this.#waiting === 0 && this.#mayStart(now)) return this.#grant(now);
    return new Promise((resolve) => {
      this.#waiters.push(resolve);
      this.#serve();
    });
  }

  /** The one entry for every call that was sent and has ended, with whatever result. A throttled answer pauses all calls. */
  observe(answer: AnsweredCall): void {
    const nowMs = this.#options.monotonicNow();
    const stated = this.#reader.read(answer, nowMs);
    const pause = answer.throttled ? pauseOf(answer.retryAfterMs, stated, this.#rules.pauseMs()) : null;
    this.#rules.answered({ ...stated, ...answer, failed: answer.failed ?? false, nowMs, waitMs: pause?.ms ?? null });
    this.#pause.answered(answer.callNumber, pause);
    if (this.#gate === null && this.#rules.limited) this.#gate = this.#newGate();
    this.#serve();
  }

  /** A call with a permit was not sent after all. It says nothing about the service, so the probe of a pause is due again. */
  withdraw(callNumber: CallNumber): void {
    this.#rules.withdrawn(callNumber, this.#options.monotonicNow());
    this.#pause.withdrawn(callNumber);
    this.#serve();
  }

  /** Milliseconds until calls may start again; 0 when they may, or when they only wait for their pace. */
  pausedMs(): number {
    const now = this.#options.monotonicNow();
    const waitMs = (this.#rules.usedUp(now)?.untilMs ?? now) - now;
    return Math.max(this.throttledMs(), waitMs < MIN_REPORTED_PAUSE_MS ? 0 : waitMs);
  }

  /** The part of `pausedMs` that a throttled answer asked for. */
  throttledMs(): number {
    return this.#pause.leftMs();
  }

  /** Why calls pause, completing "waiting for ..."; of use while `pausedMs` is not 0. */
  pausedFor(): string {
    return this.throttledMs() > 0 ? this.#pause.reason.what : `the ${this.usedUp()?.what ?? 'quota'}, which is used up`;
  }

  /**
   * The quota that is used up, and until when (monotonic milliseconds). null: each has permits, or a call is in flight whose answer may
   * change that.
   */
  usedUp(): UsedUp | null {
    return this.#rules.usedUp(this.#options.monotonicNow());
  }

  /** The reason why callers wait; null when no caller waits, or only for an answer in flight or for `blockedBy`. */
  waiting(): Wait | null {
    if (this.#stopped || this.#isBlocked || this.#waiting === 0) return null;
    if (this.#pause.isPaused) return { reason: 'throttled', what: this.#pause.reason.what, untilMs: this.#pause.untilMs };
    return this.#pause.isProbing ? null : this.#rules.waiting(this.#options.monotonicNow());
  }

  /** Calls that may start at once; 0 where nothing limits them. */
  get burst(): number {
    const permits = this.throttledMs() > 0 ? 0 : this.#rules.permits(this.#options.monotonicNow()).permits;
    return Number.isFinite(permits) ? permits : 0;
  }

  /** The quota that the newest answer has stated; null before the first. */
  get stated(): Pick<RateReading, 'limit' | 'remaining'> | null {
    return this.#reader.stated;
  }

  /** Requests that the service offered beyond the plan's rate; 0 for a shared quota or a share of the plan. */
  beyondPlan(): number {
    return this.#rules.beyondPlan(this.#options.monotonicNow());
  }

  /** The quota for the next run, as the checkpoint stores it. */
  save(): SavedQuota {
    const [now, wallMs] = [this.#options.monotonicNow(), this.#options.wallNow()];
    const later = this.#pause.save(now, wallMs);
    return { ...this.#rules.save(now, wallMs), ...(later === null ? {} : { later }) };
  }

  /** Leaves a shared quota. To be called after `stop`, when every call was answered. */
  async close(): Promise<void> {
    await this.#rules.close();
  }

  /** Grants nothing more; waiting callers get 0. */
  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#rules.stop();
    this.#pause.stop();
    this.#cancelRecheck();
    const waiting = this.#waiters.slice(this.#head);
    this.#waiters = [];
    this.#head = 0;
    for (const waiter of waiting) waiter(0);
    await this.#gate?.stop();
  }

  get #waiting(): number {
    return this.#waiters.length - this.#head;
  }

  /** Asks the rules once more: since the lease began they may have learnt that another client uses the key. */
  #mayStart(now: number): boolean {
    if (this.#pause.isPaused || this.#pause.isProbing) return false;
    const isPermitted = this.#gate === null || (this.#permits > 0 && this.#rules.permits(now).permits >= 1);
    return isPermitted && !this.#mustBlock();
  }

  /** Whether `blockedBy` keeps permitted calls from leaving. Serves them when it lets go. */
  #mustBlock(): boolean {
    if (this.#isBlocked) return true;
    const blocked = this.#options.blockedBy?.() ?? null;
    if (blocked === null) return false;
    this.#isBlocked = true;
    const unblock = (): void => {
      this.#isBlocked = false;
      this.#serve();
    };
    blocked.then(unblock, unblock);
    return true;
  }

  #grant(now: number): CallNumber {
    const callNumber = this.#rules.sent(now);
    this.#pause.granted(callNumber);
    if (this.#rules.isExact) this.#options.whenFree?.(() => this.#rules.left(this.#options.monotonicNow()));
    if (this.#gate !== null && --this.#permits === 0) this.#lease();
    return callNumber;
  }

  #serve(): void {
    for (let now = this.#options.monotonicNow(); this.#waiting > 0 && this.#mayStart(now); now = this.#options.monotonicNow()) {
      const waiter = this.#waiters[this.#head++];
      if (this.#head > 1_024) {
        this.#waiters = this.#waiters.slice(this.#head);
        this.#head = 0;
      }
      waiter?.(this.#grant(now));
    }
    if (this.#waiting > 0 && !this.#pause.isPaused) this.#lease();
  }

  /**
   * Leases permits that the rules allow, and one ahead of them: its call then leaves at the moment of its permit, not milliseconds later.
   * Without permits, asks again at the time that the rules name.
   */
  #lease(): void {
    const gate = this.#gate;
    if (gate === null || this.#stopped) return;
    const now = this.#options.monotonicNow();
    const { permits, atMs } = this.#rules.permits(now);
    if (permits < 1 && this.#waiting > 0) this.#recheckAt(atMs);
    // A permit may have come since the callers were last served.
    else if (this.#permits > 0 && this.#waiting > 0 && !this.#pause.isProbing && !this.#isBlocked) this.#recheckAt(now);
    if (this.#permits === 0 && !gate.isLeasing) gate.lease(Math.max(1, Math.min(permits, this.#leaseSize)));
  }

  #newGate(): Gate {
    const { monotonicNow, wallNow } = this.#options;
    return new Gate({
      monotonicNow,
      wallNow,
      onLease: (permits) => {
        this.#permits += permits;
        this.#serve();
      },
      onTimeout: () => this.#serve(),
    });
  }

  #recheckAt(at: number): void {
    this.#rules.wanted();
    if (this.#recheck?.atMs === at) return;
    this.#cancelRecheck();
    if (at === Infinity) return;
    const { monotonicNow, whenFree } = this.#options;
    const recheck = { atMs: at, timer: null as NodeJS.Timeout | null };
    this.#recheck = recheck;
    const over = (): void => {
      if (this.#recheck !== recheck) return;
      this.#recheck = null;
      this.#serve();
    };
    // On a busy machine the time may have passed by now.
    const leftMs = Math.min(Math.max(0, at - monotonicNow()), MAX_TIMER_MS);
    if (whenFree === undefined || !this.#rules.isExact) recheck.timer = setTimeout(over, Math.ceil(leftMs));
    else recheck.timer = setTimeout(() => this.#waitExactly(recheck, over), Math.max(0, Math.floor(leftMs - TIMER_ERROR_MS)));
  }

  /** Waits for the rest of a millisecond or two. */
  #waitExactly(recheck: Recheck, over: () => void): void {
    if (this.#recheck !== recheck) return;
    if (this.#options.monotonicNow() >= recheck.atMs) over();
    else this.#options.whenFree?.(() => this.#waitExactly(recheck, over));
  }

  #cancelRecheck(): void {
    clearTimeout(this.#recheck?.timer ?? undefined);
    this.#recheck = null;
  }
}
