/**
 * The pause after a throttled answer (429, or 503 with `Retry-After`). It holds every call, also those that have a permit.
 *
 * ## open
 * Calls start. Entered at the start, and when the probe is answered with anything but "throttled".
 *
 * ## paused
 * No call starts. Entered by a throttled answer, or by a pause that the run before has saved. Left when the pause is over.
 *
 * ## probing
 * One call goes first, the probe; the others wait for its answer. A service that keeps throttling gets one call per pause. When the probe
 * was not sent after all, the next call is the probe.
 */
import type { WindowReading } from '../client/quota/quota-reading.ts';
import { describeWindow } from './inference/long-window.ts';
import type { RateReading } from './inference/rate-reading.ts';
import type { LimiterOptions, PauseReason } from './limiter-options.ts';
import type { CallNumber } from './quota-rule.ts';
import type { SavedPause } from './saved-quota.ts';

/** The pause after a throttled answer that does not say how long. */
const DEFAULT_THROTTLE_MS = 5_000;
/** The pause after a throttled answer that says "at once": repeating the call immediately would only keep both sides busy. */
const MIN_THROTTLE_MS = 250;
/** The longest wait for a window that is used up and states no reset. */
const MAX_UNSTATED_RESET_MS = 60_000;
/** The longest delay that a timer takes. A longer pause is waited for in parts. */
const MAX_TIMER_MS = 2 ** 31 - 1;
/** The number of a probe that has not been granted yet. */
const PROBE_DUE = 0;

/**
 * The pause that a throttled answer causes.
 * @param unstatedMs the pause when the answer does not say how long
 */
export function pauseOf(
  retryAfterMs: number | null,
  { reading, windows }: { readonly reading: RateReading | null; readonly windows: readonly WindowReading[] },
  unstatedMs: number,
): PauseReason & { readonly ms: number } {
  if (retryAfterMs !== null)
    return { ms: Math.max(MIN_THROTTLE_MS, retryAfterMs), cause: 'retry_after', what: 'the end of the pause that the service asked for' };
  let usedUp: { readonly ms: number; readonly what: string } | null = null;
  for (const window of windows) {
    const ms = window.resetMs ?? Math.min(window.periodMs, MAX_UNSTATED_RESET_MS);
    if (window.remaining <= 0 && ms > (usedUp?.ms ?? -1)) usedUp = { ms, what: `the ${describeWindow(window)}, which is used up` };
  }
  if (usedUp === null && reading !== null && reading.resetMs !== null)
    usedUp = { ms: reading.resetMs, what: "the quota, which is used up by the service's own headers" };
  if (usedUp !== null) return { ...usedUp, ms: Math.max(MIN_THROTTLE_MS, usedUp.ms), cause: 'used_up' };
  const ms = Math.min(DEFAULT_THROTTLE_MS, unstatedMs);
  return { ms, cause: 'unstated', what: `the end of a pause of ${ms / 1_000} s: the service refused a call and did not say for how long` };
}

export class ThrottlePause {
  readonly #options: Pick<LimiterOptions, 'monotonicNow' | 'wallNow' | 'onThrottled'>;
  readonly #onOver: () => void;
  #untilMs = 0;
  #lengthMs = 0;
  #reason: PauseReason = { cause: 'unstated', what: '' };
  /** Set while paused. */
  #timer: NodeJS.Timeout | null = null;
  /** The probe's number or PROBE_DUE; null while open. */
  #probe: CallNumber | null = null;
  #lastGranted: CallNumber = 0;
  /** The last call that left before the service was known to throttle. */
  #lastBeforePause: CallNumber = 0;
  #stopped = false;

  /** @param onOver the pause is over: the probe may start */
  constructor(options: Pick<LimiterOptions, 'monotonicNow' | 'wallNow' | 'onThrottled'>, onOver: () => void) {
    this.#options = options;
    this.#onOver = onOver;
  }

  get isPaused(): boolean {
    return this.#timer !== null;
  }

  /** Whether the probe is under way. */
  get isProbing(): boolean {
    return this.#probe !== null && this.#probe !== PROBE_DUE;
  }

  /** Monotonic milliseconds. */
  get untilMs(): number {
    return this.#untilMs;
  }

  leftMs(): number {
    return Math.max(0, this.#untilMs - this.#options.monotonicNow());
  }

  granted(callNumber: CallNumber): void {
    this.#lastGranted = callNumber;
    if (this.#probe === PROBE_DUE) this.#probe = callNumber;
  }

  /** The reason for the pause, the last one after its end. */
  get reason(): PauseReason {
    return this.#reason;
  }

  /** A call was answered. @param pause the pause that the answer causes; null for an answer that is not throttled */
  answered(callNumber: CallNumber, pause: (PauseReason & { readonly ms: number }) | null): void {
    if (callNumber === this.#probe) this.#probe = null;
    if (pause !== null) this.#pause(pause, callNumber);
  }

  /** A granted call was not sent. */
  withdrawn(callNumber: CallNumber): void {
    if (callNumber === this.#probe) this.#probe = PROBE_DUE;
  }

  /** Continues the pause of the run before. A clock that was set back since does not make it longer. */
  restore({ untilMs, forMs, cause = 'retry_after', what = 'the end of the pause that the service asked for' }: SavedPause): void {
    this.#probe = PROBE_DUE;
    this.#lengthMs = forMs;
    this.#reason = { cause, what };
    const leftMs = Math.min(untilMs - this.#options.wallNow(), forMs);
    if (leftMs <= 0) return;
    this.#untilMs = this.#options.monotonicNow() + leftMs;
    this.#options.onThrottled?.({ untilMs: this.#untilMs, isNew: false, ...this.#reason });
    this.#wait();
  }

  /** The pause for the next run; null when no pause is known to be unfinished. @param wallMs wall clock of `nowMs` */
  save(nowMs: number, wallMs: number): SavedPause | null {
    return this.#probe === null ? null : { untilMs: wallMs + this.#untilMs - nowMs, forMs: this.#lengthMs, ...this.#reason };
  }

  /** Later pauses are only noted, for `save`. */
  stop(): void {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #pause({ ms, cause, what }: PauseReason & { readonly ms: number }, callNumber: CallNumber): void {
    const untilMs = this.#options.monotonicNow() + ms;
    // Calls in flight are refused together, some of them after the pause that the first refusal asked for. All left before it.
    const isNew = callNumber > this.#lastBeforePause;
    if (isNew) this.#lastBeforePause = this.#lastGranted;
    this.#probe ??= PROBE_DUE;
    if (!this.#stopped && (isNew || untilMs > this.#untilMs)) this.#options.onThrottled?.({ untilMs, isNew, cause, what });
    if (untilMs <= this.#untilMs) return;
    this.#untilMs = untilMs;
    this.#lengthMs = ms;
    this.#reason = { cause, what };
    if (this.#stopped) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#wait();
  }

  /** A timer may fire a little early: the time is checked again. */
  #wait(): void {
    const leftMs = this.#untilMs - this.#options.monotonicNow();
    this.#timer = setTimeout(
      () => {
        if (this.#untilMs > this.#options.monotonicNow()) {
          this.#wait();
          return;
        }
        this.#timer = null;
        this.#onOver();
      },
      Math.min(Math.ceil(leftMs), MAX_TIMER_MS),
    );
  }
}
