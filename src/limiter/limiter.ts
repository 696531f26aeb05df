import Bottleneck from 'bottleneck';
import { readRateHeaders } from './rate-headers.ts';
import { MINUTE_MS, SlidingMinute } from './sliding-minute.ts';

export interface LimiterOptions {
  /** Requests a minute; null: no pacing unless the service asks for it. */
  readonly rpm: number | null;
  /** Monotonic milliseconds. */
  readonly monotonicNow: () => number;
  /** Wall clock, milliseconds: for services that send no `Date`, and because Bottleneck goes by it. */
  readonly wallNow: () => number;
  /** The service said later: one call a pause, however many answers said so. */
  readonly onThrottled?: (waitMs: number) => void;
}

/** Up to this rate each call is a lease of its own, so the gate is exact; above it Bottleneck's 370 calls a second would bind. */
const EXACT_UP_TO_RPM = 6_000;
/** Leases a second above that. */
const LEASES_PER_SECOND = 20;
/** A service that says "throttled" and nothing else is left alone for this long. */
const DEFAULT_THROTTLE_MS = 5_000;
/** And one that says "throttled, but come at once" for this long: otherwise both would be kept busy with nothing else. */
const SHORTEST_THROTTLE_MS = 250;
/** A wall clock that was set back by more than this would make Bottleneck wait until it has caught up: it is replaced. */
const CLOCK_STEP_MS = 250;
/** The longest delay a timer takes; a longer pause is waited for in parts. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * When a call may start. Bottleneck is the gate: it paces leases of k permits, and calls draw from the lease at hand.
 * A pause (429, or a quota seen to be used up) holds everything, permits in hand included.
 */
export class Limiter {
  readonly #options: LimiterOptions;
  #gate: Bottleneck | null;
  readonly #leaseSize: number;
  readonly #minute: SlidingMinute | null;
  /** Wall clock less monotonic clock, when the gate was last asked. */
  #wallOffset: number;
  #permits = 0;
  #leasing = false;
  #pausedUntil = 0;
  #throttledUntil = 0;
  #pauseTimer: NodeJS.Timeout | null = null;
  #minuteTimer: NodeJS.Timeout | null = null;
  #waiters: ((granted: boolean) => void)[] = [];
  #head = 0;
  #inFlight = 0;
  #stopped = false;

  constructor(options: LimiterOptions) {
    this.#options = options;
    const { rpm } = options;
    this.#leaseSize = rpm === null || rpm <= EXACT_UP_TO_RPM ? 1 : Math.max(1, Math.floor(rpm / 60 / LEASES_PER_SECOND));
    this.#minute = rpm === null ? null : new SlidingMinute(Math.floor(rpm / this.#leaseSize));
    this.#gate = this.#newGate();
    this.#wallOffset = options.wallNow() - options.monotonicNow();
  }

  /** Resolves true when one call may start now, false when the limiter was stopped. Callers are served in order. */
  take(): boolean | Promise<boolean> {
    if (this.#stopped) return false;
    if (this.#waiters.length === this.#head && this.#mayStart()) {
      this.#grant();
      return true;
    }
    return new Promise((resolve) => {
      this.#waiters.push(resolve);
      this.#serve();
    });
  }

  /** Every answered call reports here, whatever it came to. `throttledMs`: what a throttled answer asked for (null: it did not say). */
  observe(answer: { headers: Readonly<Record<string, string | string[] | undefined>>; throttled: boolean; retryAfterMs: number | null }): void {
    this.#inFlight--;
    const reading = readRateHeaders(answer.headers, this.#options.wallNow());
    if (answer.throttled) {
      this.#pause(Math.max(SHORTEST_THROTTLE_MS, answer.retryAfterMs ?? reading.resetMs ?? DEFAULT_THROTTLE_MS), true);
    } else if (reading.remaining !== null && !reading.unlimited && reading.resetMs !== null && reading.remaining <= this.#inFlight) {
      // What is in flight already uses up what is left. One permit's time is enough to look again where permits trickle back.
      const trickleMs = this.#options.rpm === null ? reading.resetMs : Math.min(reading.resetMs, (MINUTE_MS / this.#options.rpm) * (this.#inFlight - reading.remaining + 1));
      this.#pause(trickleMs, false);
    }
    this.#serve();
  }

  /** Milliseconds until calls may start again; 0 when they may. */
  pausedMs(): number {
    return Math.max(0, this.#pausedUntil - this.#options.monotonicNow());
  }

  /** Grants nothing more; who waits is told so. */
  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    if (this.#pauseTimer !== null) clearTimeout(this.#pauseTimer);
    if (this.#minuteTimer !== null) clearTimeout(this.#minuteTimer);
    const waiting = this.#waiters.slice(this.#head);
    this.#waiters = [];
    this.#head = 0;
    for (const waiter of waiting) waiter(false);
    await this.#gate?.stop({ dropWaitingJobs: true });
  }

  #mayStart(): boolean {
    return this.#pauseTimer === null && (this.#gate === null || this.#permits > 0);
  }

  #grant(): void {
    this.#inFlight++;
    if (this.#minute === null) return;
    this.#minute.use(this.#options.monotonicNow());
    if (--this.#permits === 0) this.#lease();
  }

  #serve(): void {
    while (this.#head < this.#waiters.length && this.#mayStart()) {
      const waiter = this.#waiters[this.#head++];
      if (this.#head > 1_024) {
        this.#waiters = this.#waiters.slice(this.#head);
        this.#head = 0;
      }
      this.#grant();
      waiter?.(true);
    }
    if (this.#head < this.#waiters.length && this.#pauseTimer === null) this.#lease();
  }

  /** Asks the gate for the next lease, once. */
  #lease(): void {
    if (this.#gate === null || this.#leasing || this.#stopped || this.#permits > 0) return;
    this.#leasing = true;
    this.#mindTheClock();
    this.#gate.schedule(() => Promise.resolve()).then(
      () => this.#leased(),
      () => {
        // Dropped by stop(): who waited has been told.
        this.#leasing = false;
      },
    );
  }

  /** The gate has opened; the lease begins as soon as the last minute has room for it. */
  #leased(): void {
    if (this.#stopped || this.#minute === null) return;
    const waitMs = this.#minute.waitMs(this.#options.monotonicNow());
    if (waitMs > 0) {
      this.#minuteTimer = setTimeout(() => this.#leased(), Math.ceil(waitMs));
      return;
    }
    this.#leasing = false;
    this.#minute.begin();
    this.#permits += this.#leaseSize;
    this.#serve();
  }

  #newGate(): Bottleneck | null {
    const { rpm } = this.#options;
    return rpm === null ? null : new Bottleneck({ minTime: (this.#leaseSize * MINUTE_MS) / rpm });
  }

  /** Nothing waits in the gate when this is called, so that a new one can take its place. */
  #mindTheClock(): void {
    const offset = this.#options.wallNow() - this.#options.monotonicNow();
    if (offset < this.#wallOffset - CLOCK_STEP_MS) this.#gate = this.#newGate();
    this.#wallOffset = offset;
  }

  #pause(ms: number, throttled: boolean): void {
    if (this.#stopped || ms <= 0) return;
    const now = this.#options.monotonicNow();
    const until = now + ms;
    if (throttled) {
      // 429s come in flocks: the first one pauses, the rest of the flock may only lengthen the pause.
      if (this.#throttledUntil <= now) this.#options.onThrottled?.(ms);
      this.#throttledUntil = Math.max(this.#throttledUntil, until);
    }
    if (until <= this.#pausedUntil) return;
    this.#pausedUntil = until;
    if (this.#pauseTimer !== null) clearTimeout(this.#pauseTimer);
    this.#waitOutPause();
  }

  /** A timer may fire a little early, and waits for 24 days at most: it looks again. */
  #waitOutPause(): void {
    this.#pauseTimer = setTimeout(() => {
      if (this.pausedMs() > 0) {
        this.#waitOutPause();
        return;
      }
      this.#pauseTimer = null;
      this.#serve();
    }, Math.min(Math.ceil(this.pausedMs()), LONGEST_TIMER_MS));
  }
}
