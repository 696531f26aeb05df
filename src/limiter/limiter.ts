import type { Wait } from '../util/waits.ts';
import { AnswerReader } from './answer-reader.ts';
import { Gate } from './gate.ts';
import type { AnsweredCall, CallTicket, LimiterOptions } from './limiter-options.ts';
import { describeWindow } from './long-window.ts';
import { PlanShare } from './plan-share.ts';
import { QuotaModel } from './quota-model.ts';
import { QuotaWindows } from './quota-windows.ts';
import type { RateReading } from './rate-reading.ts';
import type { SavedQuota } from './saved-quota.ts';
import { SharedQuota } from './shared/shared-quota.ts';
import { restoreSlots, saveSlots } from './recent-slots.ts';
import { ThrottlePause } from './throttle-pause.ts';

export type { AnsweredCall, CallTicket, LimiterOptions, ThrottledWait } from './limiter-options.ts';

/** Up to this rate a lease has one permit, so that the gate is exact. Above it, Bottleneck's 370 leases a second would be too few. */
const EXACT_UP_TO_RPM = 6_000;
/** The rate that is assumed for an unlimited plan whose headers ask for a gate after all. */
const MAX_RPM = 600_000;
/** Leases a second above `EXACT_UP_TO_RPM`. */
const LEASES_PER_SECOND = 20;
/** The pause after a throttled answer that does not say how long. */
const DEFAULT_THROTTLE_MS = 5_000;
/** The pause after a throttled answer that says "at once": repeating the call immediately would only keep both sides busy. */
const MIN_THROTTLE_MS = 250;
/** A shorter wait for permits is pacing, not a pause that the user should see. */
const MIN_REPORTED_PAUSE_MS = 1_000;
/** The longest delay that a timer takes. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Decides when a call may start. The quota model counts the permits, from the quota that the service's answers state. The gate hands
 * them out in leases. A throttled answer (429) pauses every call, see `ThrottlePause`.
 */
export class Limiter {
  readonly #options: LimiterOptions;
  readonly #model: QuotaModel | PlanShare | SharedQuota;
  readonly #reader: AnswerReader;
  /** Windows beside the model's: seconds, hours, days. */
  readonly #windows: QuotaWindows;
  readonly #pause: ThrottlePause;
  /** null on an unlimited plan, until the service's headers state a quota. */
  #gate: Gate | null;
  readonly #leaseSize: number;
  /** Permits in hand. */
  #permits = 0;
  /** Asks the model again at the time that it named. */
  #recheckTimer: NodeJS.Timeout | null = null;
  #recheckAtMs = Infinity;
  #waiters: ((ticket: CallTicket) => void)[] = [];
  #head = 0;
  #isBlocked = false;
  #stopped = false;

  constructor(options: LimiterOptions) {
    this.#options = options;
    const { restored = null, shared = null, share = 1, windows = [] } = options;
    this.#reader = new AnswerReader(options);
    this.#windows = new QuotaWindows(windows);
    this.#pause = new ThrottlePause(options, () => this.#serve());
    const planShare = options.rpm !== null && shared === null && share < 1 ? new PlanShare({ rpm: options.rpm, part: share }) : null;
    const rpm = planShare?.rpm ?? options.rpm;
    this.#leaseSize = rpm !== null && rpm <= EXACT_UP_TO_RPM ? 1 : Math.max(1, Math.floor((rpm ?? MAX_RPM) / 60 / LEASES_PER_SECOND));
    this.#model = shared ?? planShare ?? new QuotaModel({ rpm });
    if (restored?.windows !== undefined) this.#windows.restore(restored.windows, options.monotonicNow(), options.wallNow());
    this.#gate = rpm === null && !this.#windows.active ? null : this.#newGate();
    const startMs = options.monotonicNow();
    if (restored !== null) this.#model.restore(restoreSlots(restored.minute, startMs, options.wallNow()), startMs);
    if (restored?.later !== undefined) this.#pause.restore(restored.later);
    shared?.start(
      () => (this.#pause.isPaused || this.#isBlocked ? 0 : this.#waiters.length - this.#head),
      () => this.#serve(),
    );
  }

  /** Resolves to a ticket when one call may start now, or to 0 when the limiter was stopped. Callers are served in order. */
  take(): CallTicket | Promise<CallTicket> {
    if (this.#stopped) return 0;
    if (this.#waiters.length === this.#head && this.#mayStart()) return this.#grant();
    return new Promise((resolve) => {
      this.#waiters.push(resolve);
      this.#serve();
    });
  }

  /** The one entry for every call that has ended, with whatever result. A throttled answer pauses all calls. */
  observe(answer: AnsweredCall): void {
    const now = this.#options.monotonicNow();
    const { plan, reading, windows } = this.#reader.read(answer, now);
    this.#windows.answered(answer.ticket, windows, now, answer.failed);
    const usedUp = answer.throttled ? this.#windows.usedUpBy(windows) : null;
    const throttleMs = answer.throttled
      ? Math.max(MIN_THROTTLE_MS, answer.retryAfterMs ?? usedUp ?? reading?.resetMs ?? DEFAULT_THROTTLE_MS)
      : null;
    if (this.#model instanceof SharedQuota) this.#model.answered({ ...answer, plan }, now, reading, throttleMs);
    else this.#model.answered(answer.ticket, now, reading, answer.throttled, throttleMs, answer.failed ?? false);
    this.#pause.answered(answer.ticket, throttleMs);
    if (this.#gate === null && (this.#model.limited || this.#windows.active)) this.#gate = this.#newGate();
    this.#serve();
  }

  /** Milliseconds until calls may start again; 0 when they may, or when they only wait for their pace. */
  pausedMs(): number {
    const now = this.#options.monotonicNow();
    const waitMs = Math.max(this.#model.waitMs(now), (this.usedUp()?.untilMs ?? now) - now);
    return Math.max(this.throttledMs(), waitMs < MIN_REPORTED_PAUSE_MS ? 0 : waitMs);
  }

  /** The part of `pausedMs` that a throttled answer asked for. */
  throttledMs(): number {
    return this.#pause.leftMs();
  }

  /**
   * The window that is used up, in words, and until when (monotonic milliseconds). null: each window has permits, or a call is in flight
   * whose answer may change that.
   */
  usedUp(): { readonly what: string; readonly untilMs: number } | null {
    const usedUp = this.#windows.usedUp(this.#options.monotonicNow());
    return usedUp === null ? null : { what: describeWindow(usedUp), untilMs: usedUp.untilMs };
  }

  /** The reason why callers wait; null when no caller waits, or only for an answer in flight or for `blockedBy`. */
  waiting(): Wait | null {
    if (this.#stopped || this.#isBlocked || this.#head === this.#waiters.length) return null;
    if (this.#pause.isPaused)
      return { reason: 'throttled', what: 'the end of the pause that the service asked for', untilMs: this.#pause.untilMs };
    if (this.#pause.isProbing) return null;
    const wait = this.#model.waiting(this.#options.monotonicNow());
    const usedUp = this.usedUp();
    if (usedUp === null || (wait?.untilMs ?? 0) > usedUp.untilMs) return wait;
    return { reason: 'quota', what: `the ${usedUp.what}, which is used up`, untilMs: usedUp.untilMs };
  }

  /** Calls that may start at once; 0 where nothing limits them, or where the quota is shared. */
  get burst(): number {
    const permits = this.#model instanceof SharedQuota || this.throttledMs() > 0 ? 0 : this.#model.permits(this.#options.monotonicNow());
    return Number.isFinite(permits) ? permits : 0;
  }

  /** The quota that the newest answer has stated; null before the first. */
  get stated(): Pick<RateReading, 'limit' | 'remaining'> | null {
    return this.#reader.stated;
  }

  /** Requests that the service offered beyond the plan's rate; 0 for a shared quota or a share of the plan. */
  beyondPlan(): number {
    return this.#model instanceof QuotaModel ? this.#model.beyondPlan(this.#options.monotonicNow()) : 0;
  }

  /** The quota for the next run, as the checkpoint stores it. */
  save(): SavedQuota {
    const [now, savedAtMs] = [this.#options.monotonicNow(), this.#options.wallNow()];
    const later = this.#pause.save(now, savedAtMs);
    const windows = this.#windows.save(now, savedAtMs);
    return {
      minute: saveSlots(this.#model.recent(now), now, savedAtMs),
      savedAtMs,
      ...(later === null ? {} : { later }),
      ...(windows.length === 0 ? {} : { windows }),
    };
  }

  /** Leaves a shared quota. To be called after `stop`, when every call was answered. */
  async close(): Promise<void> {
    await this.#options.shared?.close();
  }

  /** Grants nothing more; waiting callers get 0. */
  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#options.shared?.stop();
    this.#pause.stop();
    this.#cancelRecheck();
    const waiting = this.#waiters.slice(this.#head);
    this.#waiters = [];
    this.#head = 0;
    for (const waiter of waiting) waiter(0);
    await this.#gate?.stop();
  }

  /** Asks the model once more: since the lease began it may have learnt that another client uses the key. */
  #mayStart(): boolean {
    if (this.#pause.isPaused || this.#pause.isProbing) return false;
    const isPermitted = this.#gate === null || (this.#permits > 0 && this.#permitted(this.#options.monotonicNow()) >= 1);
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

  /** Permits by the model and by every window. */
  #permitted(now: number): number {
    const permits = this.#model.permits(now);
    return this.#windows.active ? Math.min(permits, this.#windows.permits(now)) : permits;
  }

  #grant(): CallTicket {
    const now = this.#options.monotonicNow();
    const ticket = this.#model.sent(now);
    this.#windows.sent(ticket, now);
    this.#pause.granted(ticket);
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
    if (this.#head < this.#waiters.length && !this.#pause.isPaused) this.#lease();
  }

  /** Leases permits that the model allows; without any, asks again at the time that the model names. */
  #lease(): void {
    const gate = this.#gate;
    if (gate === null || gate.isLeasing || this.#stopped) return;
    const permits = this.#permitted(this.#options.monotonicNow());
    if (permits < 1) this.#recheckLater();
    else if (this.#permits === 0) gate.lease(Math.min(permits, this.#leaseSize));
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

  #recheckLater(): void {
    const now = this.#options.monotonicNow();
    // The later of model and windows: the other one is asked again then.
    const modelAt = this.#model.permits(now) >= 1 ? now : this.#model.nextAt;
    const at = this.#windows.active ? Math.max(modelAt, this.#windows.nextAt(now)) : modelAt;
    if (this.#recheckTimer !== null && this.#recheckAtMs === at) return;
    this.#cancelRecheck();
    if (at === Infinity || this.#head === this.#waiters.length) return;
    this.#recheckAtMs = at;
    // On a busy machine the time may have passed by now.
    const leftMs = Math.max(0, Math.ceil(at - this.#options.monotonicNow()));
    this.#recheckTimer = setTimeout(
      () => {
        this.#recheckTimer = null;
        this.#serve();
      },
      Math.min(leftMs, MAX_TIMER_MS),
    );
  }

  #cancelRecheck(): void {
    if (this.#recheckTimer !== null) clearTimeout(this.#recheckTimer);
    this.#recheckTimer = null;
  }
}
