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

interface Window {
  readonly periodMs: number;
  limit: number | null;
  readonly isStated: boolean;
  readonly own: SpentSlots;
  /** The statement of the answer to call `ticket`; null without one, or when its reset is over. */
  stated: { ticket: number; left: number; untilMs: number } | null;
  /** Another client was observed. */
  hasOtherClients: boolean;
  /** The call that probes the window after its reset; null when none is in flight. */
  probe: number | null;
}

export class QuotaWindows {
  readonly #windows = new Map<number, Window>();
  readonly #inFlight = new Set<number>();
  #last = 0;
  #spreadMs = 0;
  #leastLatencyMs = Infinity;

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
    this.#last = ticket;
    if (!this.active) return;
    this.#inFlight.add(ticket);
    for (const window of this.#windows.values()) {
      window.own.add(nowMs);
      if (window.stated !== null && nowMs < window.stated.untilMs) window.stated.left--;
      else window.probe ??= ticket;
    }
  }

  /** @param windows the windows that the answer states; empty without an answer */
  answered(ticket: number, sentMs: number | null, windows: readonly WindowReading[], nowMs: number): void {
    this.#inFlight.delete(ticket);
    if (sentMs !== null) this.#noteLatency(nowMs - sentMs);
    for (const window of this.#windows.values()) if (window.probe === ticket) window.probe = null;
    for (const reading of windows) this.#applyReading(reading, ticket, sentMs ?? nowMs, nowMs);
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
        spent: own.save(nowMs, wallMs),
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
          : { ticket: 0, left, untilMs: nowMs + Math.min(resetAtMs - wallMs, periodMs + ROUNDING_MS) };
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

  #applyReading({ periodMs, limit, remaining, resetMs }: WindowReading, ticket: number, sentMs: number, nowMs: number): void {
    const window = this.#windows.get(periodMs) ?? newWindow(periodMs, false);
    if (!this.#windows.has(periodMs)) {
      this.#windows.set(periodMs, window);
      for (let sent = this.#inFlight.size + 1; sent > 0; sent--) window.own.add(nowMs);
    }
    if (window.stated !== null && ticket < window.stated.ticket && nowMs < window.stated.untilMs) return;
    if (!window.isStated || (limit !== null && window.limit !== null && limit < window.limit)) window.limit = limit ?? window.limit;
    let below = 0;
    for (const other of this.#inFlight) {
      if (other >= ticket) break;
      below++;
    }
    const left = remaining - (this.#last - ticket) - below;
    // A stated window ends a period after the answer at the latest.
    const untilMs = nowMs + Math.min(resetMs === null ? Infinity : resetMs + ROUNDING_MS, periodMs + (resetMs === null ? 0 : ROUNDING_MS));
    window.stated = { ticket, left, untilMs };
    // The service may have counted, at any moment since the call was sent, calls that have left the period by now.
    const mayCountMs = nowMs - sentMs + periodMs + this.#spreadMs;
    if (limit !== null && limit - remaining > window.own.within(nowMs, mayCountMs)) window.hasOtherClients = true;
  }

  #left(window: Window, nowMs: number): number {
    const { stated: told, limit, own, periodMs, isStated, hasOtherClients: others, probe } = window;
    const byOwn = limit === null ? 0 : limit - own.within(nowMs, periodMs + this.#spreadMs);
    if (told !== null && nowMs < told.untilMs) return others || (limit === null && !isStated) ? told.left : Math.max(told.left, byOwn);
    if (told === null && isStated) return byOwn;
    if (!others && byOwn >= 1) return byOwn;
    // The reset is over: one call probes the window.
    return probe === null ? 1 : 0;
  }

  #opensAt(window: Window, nowMs: number): number {
    const { stated: told, limit, own, periodMs, isStated, hasOtherClients: others } = window;
    const byOwn = limit === null || others ? Infinity : own.freeAt(nowMs, periodMs + this.#spreadMs, limit);
    if (told !== null && nowMs < told.untilMs) return Math.min(told.untilMs, byOwn);
    return isStated || told === null ? byOwn : Infinity;
  }

  /** Calls sent a period apart may arrive closer together, by the spread of latencies. */
  #noteLatency(ms: number): void {
    this.#leastLatencyMs = Math.min(this.#leastLatencyMs, ms);
    this.#spreadMs = Math.min(2_000, Math.max(this.#spreadMs * 0.999, ms - this.#leastLatencyMs));
  }
}

function newWindow(periodMs: number, isStated: boolean): Window {
  return { periodMs, limit: null, isStated, own: new SpentSlots(periodMs), stated: null, hasOtherClients: false, probe: null };
}
