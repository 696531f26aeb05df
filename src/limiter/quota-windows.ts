/**
 * Several quota windows at once (second, hour, day), beside the minute of the quota model. Headers or the job state a window.
 *
 * - Stated by headers: the permits left, minus the calls sent since and those in flight, until the window's reset. It includes other
 * clients.
 * - Stated by the job: this job's own calls, at most the limit within any period.
 *
 * With both, and no other client, the larger number counts: either alone keeps to the window. Pure: time is passed in, monotonic
 * milliseconds.
 */
import type { StatedWindow } from '../definition/compiled-job.ts';
import type { WindowReading } from '../client/quota/quota-reading.ts';
import { CallLog } from './call-log.ts';
import { Latencies } from './latencies.ts';
import type { SavedWindow } from './saved-quota.ts';
import { SpentSlots } from './spent-slots.ts';

/** A window without permits, and when it opens. */
export interface UsedUpWindow {
  readonly periodMs: number;
  readonly limit: number | null;
  readonly untilMs: number;
}

/** A window of a minute or less is over soon. After a kill all of it counts as spent, and no calls are claimed for it. */
const SOON_OVER_MS = 60_000;

/** Requests of the smallest window whose calls are claimed before they are sent; null without such a window. */
export function smallestClaimedWindow(windows: readonly StatedWindow[]): number | null {
  const limits = windows.flatMap(({ limit, periodMs }) => (periodMs > SOON_OVER_MS ? [limit] : []));
  return limits.length === 0 ? null : Math.min(...limits);
}

/**
 * Adds the calls that a killed run may have sent without counting them.
 * @param calls the claimed calls
 * @param atMs epoch milliseconds when the last of them was sent
 */
export function addUncountedCalls(windows: readonly SavedWindow[], calls: number, atMs: number): SavedWindow[] {
  return windows.map((window) => {
    const { limit, periodMs } = window;
    const most = periodMs > SOON_OVER_MS ? Math.min(calls, limit ?? calls) : (limit ?? calls);
    return most === 0 ? window : { ...window, spent: [...window.spent, [atMs, most] as const] };
  });
}

/** Whole seconds may be rounded up or down. */
const ROUNDING_MS = 1_000;

/** A call that hangs for longer is taken as one that the service has decided on by then. */
const LONGEST_SPREAD_MS = 2_000;
/** Calls are dropped when they are older than the slowest answer by far. */
const KEPT_MS = 30_000;

interface Window {
  readonly periodMs: number;
  limit: number | null;
  readonly isStated: boolean;
  /** Our own answered calls, each at the latest moment at which the service can have decided on it. */
  readonly own: SpentSlots;
  /** The statement of the answer to call `ticket`, until its reset; null without one. Without a stated reset it holds for a period. */
  stated: { ticket: number; left: number; untilMs: number; hasReset: boolean } | null;
  /** Another client was observed. */
  hasOtherClients: boolean;
  /** The call that probes the window after its reset; null when none is in flight. */
  probe: number | null;
}

export class QuotaWindows {
  readonly #windows = new Map<number, Window>();
  readonly #log = new CallLog();
  readonly #latencies = new Latencies();
  /** The numbers of calls in flight in `#log`, by ticket. */
  readonly #inFlight = new Map<number, number>();

  /** @param stated the windows that the job states */
  constructor(stated: readonly StatedWindow[] = []) {
    for (const { limit, periodMs } of stated) this.#windows.set(periodMs, { ...newWindow(periodMs, true), limit });
  }

  /** Whether any window is known. */
  get active(): boolean {
    return this.#windows.size > 0;
  }

  /** How many calls may start now; Infinity when no window limits them. */
  permits(nowMs: number): number {
    let most = Infinity;
    for (const window of this.#windows.values()) most = Math.min(most, this.#left(window, nowMs));
    return Math.max(0, Math.floor(most));
  }

  /** The used-up window that opens last; null when a call may start, or when an answer in flight may change it. */
  usedUp(nowMs: number): UsedUpWindow | null {
    let found: UsedUpWindow | null = null;
    if (this.#inFlight.size > 0) return null;
    for (const window of this.#windows.values()) {
      if (this.#left(window, nowMs) >= 1) continue;
      const { periodMs, limit } = window;
      const untilMs = this.#opensAt(window, nowMs);
      if (found === null || untilMs > found.untilMs) found = { periodMs, limit, untilMs };
    }
    return found;
  }

  /** How long a refused call waits by its own headers, milliseconds: for the window without permits. null when each has some. */
  usedUpBy(windows: readonly WindowReading[]): number | null {
    const waits = windows.flatMap(({ remaining, resetMs, periodMs }) => (remaining > 0 ? [] : [resetMs ?? Math.min(periodMs, 60_000)]));
    return waits.length === 0 ? null : Math.max(...waits);
  }

  /** When `permits` should be asked again; Infinity: when the next answer comes. */
  nextAt(nowMs: number): number {
    let last = nowMs;
    for (const window of this.#windows.values()) if (this.#left(window, nowMs) < 1) last = Math.max(last, this.#opensAt(window, nowMs));
    return last;
  }

  sent(ticket: number, nowMs: number): void {
    // Without a window, only the calls in flight matter: there may be ten thousand a second.
    this.#inFlight.set(ticket, this.#log.sent(nowMs, nowMs - KEPT_MS, this.active ? nowMs - KEPT_MS : nowMs));
    for (const window of this.#windows.values()) {
      if (window.stated !== null && nowMs < window.stated.untilMs) window.stated.left--;
      else window.probe ??= ticket;
    }
  }

  /**
   * @param windows the windows that the answer states; empty without an answer
   * @param failed the call brought no answer of the service: its duration is no latency
   */
  answered(ticket: number, windows: readonly WindowReading[], nowMs: number, failed = false): void {
    const sentMs = this.#log.answered(this.#inFlight.get(ticket) ?? 0, nowMs);
    this.#inFlight.delete(ticket);
    if (!failed) this.#latencies.add(nowMs - sentMs, nowMs);
    const decidedMs = Math.max(sentMs, Math.min(nowMs - this.#latencies.leastMs, sentMs + this.#spreadMs));
    for (const window of this.#windows.values()) {
      window.own.add(decidedMs);
      if (window.probe === ticket) window.probe = null;
    }
    for (const reading of windows) this.#applyReading(reading, ticket, { sentMs, decidedMs }, nowMs);
  }

  /** The windows for the checkpoint. @param wallMs wall clock of `nowMs` */
  save(nowMs: number, wallMs: number): SavedWindow[] {
    return [...this.#windows.values()].map((window) => {
      const { periodMs, limit, stated: told, own } = window;
      const opensMs = this.#left(window, nowMs) < 1 ? this.#opensAt(window, nowMs) : Infinity;
      return {
        periodMs,
        limit,
        left: told === null || nowMs >= told.untilMs ? null : Math.max(0, told.left),
        resetAtMs: told === null || nowMs >= told.untilMs ? null : Math.round(told.untilMs - nowMs + wallMs),
        spent: own.save(nowMs, wallMs, this.#log.inFlight),
        ...(opensMs === Infinity ? {} : { opensAtMs: Math.round(opensMs - nowMs + wallMs) }),
      };
    });
  }

  /** Restores the windows of the run before. A window that the job no longer states is dropped. */
  restore(saved: readonly SavedWindow[], nowMs: number, wallMs: number): void {
    for (const { periodMs, limit, left, resetAtMs, spent } of saved) {
      const told =
        left === null || resetAtMs === null
          ? null
          : { ticket: 0, left, untilMs: nowMs + Math.min(resetAtMs - wallMs, periodMs + ROUNDING_MS), hasReset: true };
      const isValid = told !== null && told.untilMs > nowMs;
      const window = this.#windows.get(periodMs) ?? (isValid ? newWindow(periodMs, false) : null);
      if (window === null) continue;
      this.#windows.set(periodMs, window);
      window.limit ??= limit;
      window.own.restore(spent, nowMs, wallMs);
      if (!isValid) continue;
      window.stated = told;
      // Other clients may have spent some meanwhile: the first answer shows it.
      window.hasOtherClients = true;
    }
  }

  #applyReading(
    { periodMs, limit, remaining, resetMs }: WindowReading,
    ticket: number,
    { sentMs, decidedMs }: { readonly sentMs: number; readonly decidedMs: number },
    nowMs: number,
  ): void {
    const window = this.#windows.get(periodMs) ?? newWindow(periodMs, false);
    if (!this.#windows.has(periodMs)) {
      this.#windows.set(periodMs, window);
      window.own.add(decidedMs);
    }
    if (window.stated !== null && ticket < window.stated.ticket && nowMs < window.stated.untilMs) return;
    if (!window.isStated || (limit !== null && window.limit !== null && limit < window.limit)) window.limit = limit ?? window.limit;
    // The service may have decided after this call on each other one that was not answered when it decided on this one.
    const left = remaining - (this.#log.unansweredAt(sentMs + this.#latencies.leastMs) - 1);
    // A stated window ends a period after the answer at the latest.
    const untilMs = nowMs + Math.min(resetMs === null ? Infinity : resetMs + ROUNDING_MS, periodMs + (resetMs === null ? 0 : ROUNDING_MS));
    window.stated = { ticket, left, untilMs, hasReset: resetMs !== null };
    // The service may have counted, at any moment since the call was sent, calls that have left the period by now.
    if (limit !== null && limit - remaining > this.#ownWithin(window, nowMs, nowMs - sentMs + periodMs + this.#spreadMs))
      window.hasOtherClients = true;
  }

  #left(window: Window, nowMs: number): number {
    const { stated: told, limit, periodMs, isStated, hasOtherClients: others, probe } = window;
    const byOwn = limit === null ? 0 : limit - this.#ownWithin(window, nowMs, periodMs);
    if (told !== null && nowMs < told.untilMs) return others || (limit === null && !isStated) ? told.left : Math.max(told.left, byOwn);
    if (told === null && isStated) return byOwn;
    // All calls from before a statement without a reset have left the period by now.
    if (!others && (byOwn >= 1 || (limit !== null && told?.hasReset === false))) return byOwn;
    // The reset is over: one call probes the window.
    return probe === null ? 1 : 0;
  }

  #opensAt(window: Window, nowMs: number): number {
    const { stated: told, limit, own, periodMs, isStated, hasOtherClients: others } = window;
    const inFlight = this.#log.inFlightSince(nowMs - periodMs - this.#spreadMs);
    const byOwn = limit === null || others ? Infinity : own.freeAt(nowMs, periodMs, limit - inFlight);
    if (told !== null && nowMs < told.untilMs) return Math.min(told.untilMs, byOwn);
    return isStated || told === null || !told.hasReset ? byOwn : Infinity;
  }

  /** Our own calls of the last `ms`, and those in flight. */
  #ownWithin({ own }: Window, nowMs: number, ms: number): number {
    return own.within(nowMs, ms) + this.#log.inFlightSince(nowMs - ms - this.#spreadMs);
  }

  /** How much later than another call the service may have decided on a call, milliseconds. */
  get #spreadMs(): number {
    return Math.min(LONGEST_SPREAD_MS, this.#latencies.spreadMs);
  }
}

function newWindow(periodMs: number, isStated: boolean): Window {
  return { periodMs, limit: null, isStated, own: new SpentSlots(periodMs), stated: null, hasOtherClients: false, probe: null };
}
