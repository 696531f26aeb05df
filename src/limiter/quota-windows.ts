/**
 * Several quota windows at once (second, hour, day), beside the minute of the quota model. Headers or the job state a window.
 *
 * - Stated by headers: the permits left, until the window's reset, minus all calls that the answer may not have counted. It includes other
 * clients.
 * - Own: this job's own calls, at most the limit within any period.
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
 * @param atMs epoch milliseconds when the last of them was sent, by the checkpoint
 * @param nowMs a checkpoint may have been late by more than a window of a second: there the last call counts as sent just now
 */
export function addUncountedCalls(windows: readonly SavedWindow[], calls: number, atMs: number, nowMs: number): SavedWindow[] {
  return windows.map((window) => {
    const { limit, periodMs } = window;
    const most = periodMs > SOON_OVER_MS ? Math.min(calls, limit ?? calls) : (limit ?? calls);
    const sentMs = periodMs < SOON_OVER_MS ? Math.max(atMs, nowMs) : atMs;
    return most === 0 ? window : { ...window, spent: [...window.spent, [sentMs, most] as const] };
  });
}

/** Whole seconds may be rounded up or down. */
const ROUNDING_MS = 1_000;

/** How long an answered call stays in the log; longer while an older one is in flight, whose answer may not have counted it. */
const KEPT_MS = 30_000;

/** The first calls of a run also open their connections. Their latencies say nothing of the ways of later calls. */
const COLD_ANSWERS = 50;

/** In place of the ticket of a statement that the run before has heard. */
const RESTORED = 0;

interface Window {
  readonly periodMs: number;
  limit: number | null;
  readonly isStated: boolean;
  /** When our own calls were answered. */
  readonly own: SpentSlots;
  /** From then on `own` has all calls of a period. */
  readonly completeMs: number;
  /** The statement of the answer to call `ticket`; null before the first. It holds until its reset, or for a period. */
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
  #answers = 0;
  /** The calls in flight by ticket, oldest first: their numbers in `#log`, and when they were sent. */
  readonly #inFlight = new Map<number, { readonly number: number; readonly sentMs: number }>();

  /** @param stated the windows that the job states */
  constructor(stated: readonly StatedWindow[] = []) {
    for (const { limit, periodMs } of stated) this.#windows.set(periodMs, { ...newWindow(periodMs, true, -Infinity), limit });
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
    const [oldest] = this.#inFlight.values();
    // Without a window, only the calls in flight matter: there may be ten thousand a second.
    const keptFromMs = this.active ? Math.min(nowMs - KEPT_MS, oldest?.sentMs ?? nowMs) : nowMs;
    this.#inFlight.set(ticket, { number: this.#log.sent(nowMs, keptFromMs), sentMs: nowMs });
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
    const { number, sentMs } = this.#inFlight.get(ticket) ?? { number: 0, sentMs: nowMs };
    this.#log.answered(number, nowMs);
    this.#inFlight.delete(ticket);
    if (!failed) {
      this.#answers++;
      this.#latencies.add(nowMs - sentMs, nowMs);
    }
    for (const window of this.#windows.values()) {
      window.own.add(nowMs);
      if (window.probe === ticket) window.probe = null;
    }
    for (const reading of windows) this.#applyReading(reading, { ticket, number, sentMs }, nowMs);
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
          : { ticket: RESTORED, left, untilMs: nowMs + Math.min(resetAtMs - wallMs, periodMs + ROUNDING_MS), hasReset: true };
      const isValid = told !== null && told.untilMs > nowMs;
      const window = this.#windows.get(periodMs) ?? (isValid ? newWindow(periodMs, false, -Infinity) : null);
      if (window === null) continue;
      this.#windows.set(periodMs, window);
      window.limit ??= limit;
      window.own.restore(spent, nowMs, wallMs);
      if (!isValid) continue;
      window.stated = told;
      window.hasOtherClients = true;
    }
  }

  #applyReading(
    { periodMs, limit, remaining, resetMs }: WindowReading,
    { ticket, number, sentMs }: { readonly ticket: number; readonly number: number; readonly sentMs: number },
    nowMs: number,
  ): void {
    let window = this.#windows.get(periodMs);
    if (window === undefined) {
      window = newWindow(periodMs, false, nowMs + periodMs);
      window.own.add(nowMs);
      this.#windows.set(periodMs, window);
    }
    if (window.stated !== null && ticket < window.stated.ticket && nowMs < window.stated.untilMs) return;
    if (!window.isStated || (limit !== null && window.limit !== null && limit < window.limit)) window.limit = limit ?? window.limit;
    // Calls that were unanswered when the service decided on this one may be missing in `remaining`. The log has them all, except for those
    // that were answered before the first window was known.
    const unanswered = this.#log.unansweredAt(sentMs + this.#leastMs) - 1;
    const left = remaining - Math.max(unanswered, this.#log.last - number);
    // Until its first answer a resumed run does not know what others have spent meanwhile.
    if (window.stated?.ticket === RESTORED) window.hasOtherClients = false;
    // A stated window ends a period after the answer at the latest.
    const untilMs = nowMs + Math.min(resetMs === null ? Infinity : resetMs + ROUNDING_MS, periodMs + (resetMs === null ? 0 : ROUNDING_MS));
    window.stated = { ticket, left, untilMs, hasReset: resetMs !== null };
    // The service may have counted, at any moment since the call was sent, calls that have left the period by now.
    const mayCount = window.own.within(nowMs, nowMs - sentMs + periodMs) + this.#log.inFlight;
    if (limit !== null && limit - remaining > mayCount && nowMs >= window.completeMs) window.hasOtherClients = true;
  }

  #left(window: Window, nowMs: number): number {
    const { stated: told, limit, isStated, hasOtherClients: others, probe } = window;
    const byOwn = this.#leftByOwn(window, nowMs);
    if (told !== null && nowMs < told.untilMs) return others || (limit === null && !isStated) ? told.left : Math.max(told.left, byOwn);
    if (told === null && isStated) return byOwn;
    // A statement without a reset ends after a period, and our own count is complete by then.
    if (!others && (byOwn >= 1 || (limit !== null && limit >= 1 && told?.hasReset === false))) return byOwn;
    // The reset is over: one call probes the window.
    return probe === null ? 1 : 0;
  }

  #opensAt(window: Window, nowMs: number): number {
    const { stated: told, isStated, hasOtherClients: others } = window;
    const byOwn = others ? Infinity : this.#freeByOwnAt(window, nowMs);
    if (told !== null && nowMs < told.untilMs) return Math.min(told.untilMs, byOwn);
    return isStated || told === null || !told.hasReset ? byOwn : Infinity;
  }

  /**
   * The limit, less our own calls that the service may count with a call that is sent now. It decides on a call before its answer comes, so
   * an answered call leaves the window a period after its answer. It decides on the next call after its sending. The way back of the one
   * and the way there of the other take `#leastMs` together, at least.
   */
  #leftByOwn({ limit, own, periodMs, completeMs }: Window, nowMs: number): number {
    if (limit === null || nowMs < completeMs) return 0;
    return limit - this.#log.inFlight - own.within(nowMs, periodMs - this.#leastMs);
  }

  /** The least time of one call's way back and another call's way there, milliseconds. */
  get #leastMs(): number {
    return this.#answers < COLD_ANSWERS ? 0 : this.#latencies.leastMs;
  }

  /** When `#leftByOwn` has a permit; Infinity: not before an answer. */
  #freeByOwnAt({ limit, own, periodMs, completeMs }: Window, nowMs: number): number {
    const most = (limit ?? 0) - this.#log.inFlight;
    return most < 1 ? Infinity : Math.max(completeMs, own.freeAt(nowMs, periodMs - this.#leastMs, most));
  }
}

function newWindow(periodMs: number, isStated: boolean, completeMs: number): Window {
  return {
    periodMs,
    limit: null,
    isStated,
    own: new SpentSlots(periodMs),
    completeMs,
    stated: null,
    hasOtherClients: false,
    probe: null,
  };
}
