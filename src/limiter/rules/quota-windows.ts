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
import type { QuotaWindow } from '../../providers/compiled-provider.ts';
import type { WindowReading } from '../../client/quota/quota-reading.ts';
import type { Wait } from '../../util/waits.ts';
import type { CallLog } from '../call-log.ts';
import type { Latencies } from '../inference/latencies.ts';
import { describeWindow } from '../inference/long-window.ts';
import { noPermits, UNLIMITED, type EndedCall, type Permits, type QuotaRule, type UsedUp } from '../quota-rule.ts';
import type { SavedQuota, SavedWindow } from '../saved-quota.ts';
import type { RecentSlots } from '../recent-slots.ts';
import { SpentSlots } from './spent-slots.ts';

/** A window of a minute or less is over soon. After a kill all of it counts as spent, and no calls are claimed for it. */
const SOON_OVER_MS = 60_000;

/** Requests of the smallest window whose calls are claimed before they are sent; null without such a window. */
export function smallestClaimedWindow(windows: readonly QuotaWindow[]): number | null {
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

/** How long an answered call stays in the log. */
const KEPT_MS = 30_000;

/** The first calls of a run also open their connections. Their latencies say nothing of the ways of later calls. */
const COLD_ANSWERS = 50;

/** In place of the number of a statement that the run before has heard. */
const RESTORED = 0;

interface Window {
  readonly periodMs: number;
  limit: number | null;
  readonly isStated: boolean;
  /** When our own calls were answered. */
  readonly own: SpentSlots;
  /** From then on `own` has all calls of a period. */
  readonly completeMs: number;
  /** The statement of the answer to call `callNumber`; null before the first. It holds until its reset, or for a period. */
  stated: { callNumber: number; left: number; untilMs: number; hasReset: boolean } | null;
  /** Another client was observed. */
  hasOtherClients: boolean;
  /** The call that probes the window after its reset; null when none is in flight. */
  probe: number | null;
}

export class QuotaWindows implements QuotaRule {
  readonly #windows = new Map<number, Window>();
  readonly #log: CallLog;
  readonly #latencies: Latencies;
  #answers = 0;

  /** @param stated the windows that the job states */
  constructor(stated: readonly QuotaWindow[], log: CallLog, latencies: Latencies) {
    this.#log = log;
    this.#latencies = latencies;
    for (const { limit, periodMs } of stated) this.#windows.set(periodMs, { ...newWindow(periodMs, true, -Infinity), limit });
  }

  /** Whether any window is known. */
  get limited(): boolean {
    return this.#windows.size > 0;
  }

  get keptMs(): number {
    return this.limited ? KEPT_MS : 0;
  }

  permits(nowMs: number): Permits {
    let [permits, atMs] = [Infinity, -Infinity];
    for (const window of this.#windows.values()) {
      const left = this.#left(window, nowMs);
      permits = Math.min(permits, left);
      if (left < 1) atMs = Math.max(atMs, this.#opensAt(window, nowMs));
    }
    if (permits === Infinity) return UNLIMITED;
    return permits < 1 ? noPermits(atMs, nowMs) : { permits: Math.floor(permits), atMs: nowMs, isKnown: true };
  }

  usedUp(nowMs: number): UsedUp | null {
    if (this.#log.inFlight > 0) return null;
    let found: UsedUp | null = null;
    for (const window of this.#windows.values()) {
      if (this.#left(window, nowMs) >= 1) continue;
      const untilMs = this.#opensAt(window, nowMs);
      if (found === null || untilMs > found.untilMs) found = { what: describeWindow(window), untilMs };
    }
    return found;
  }

  waiting(nowMs: number): Wait | null {
    const usedUp = this.usedUp(nowMs);
    return usedUp === null ? null : { reason: 'quota', what: `the ${usedUp.what}, which is used up`, untilMs: usedUp.untilMs };
  }

  sent(callNumber: number, nowMs: number): void {
    for (const window of this.#windows.values()) {
      if (window.stated !== null && nowMs < window.stated.untilMs) window.stated.left--;
      else window.probe ??= callNumber;
    }
  }

  answered({ callNumber, sentMs, nowMs, windows, failed }: EndedCall): void {
    if (!failed) this.#answers++;
    for (const window of this.#windows.values()) {
      window.own.add(nowMs);
      if (window.probe === callNumber) window.probe = null;
    }
    for (const reading of windows) this.#applyReading(reading, callNumber, sentMs, nowMs);
  }

  /** The statement of an earlier call holds a permit for it, which returns. The statement of a later call may hold none. */
  withdrawn(callNumber: number): void {
    for (const window of this.#windows.values()) {
      if (window.probe === callNumber) window.probe = null;
      if (window.stated !== null && callNumber > window.stated.callNumber) window.stated.left++;
    }
  }

  save(nowMs: number, wallMs: number): Partial<SavedQuota> {
    const windows = this.#saved(nowMs, wallMs);
    return windows.length === 0 ? {} : { windows };
  }

  /** Restores the windows of the run before. A window that the job no longer states is dropped. */
  restore({ windows = [] }: SavedQuota, nowMs: number, wallMs: number): void {
    for (const { periodMs, limit, left, resetAtMs, spent } of windows) {
      const told =
        left === null || resetAtMs === null
          ? null
          : { callNumber: RESTORED, left, untilMs: nowMs + Math.min(resetAtMs - wallMs, periodMs + ROUNDING_MS), hasReset: true };
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

  addEarlier(slots: RecentSlots): void {
    for (const { own } of this.#windows.values()) own.addEarlier(slots);
  }

  #saved(nowMs: number, wallMs: number): SavedWindow[] {
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

  #applyReading({ periodMs, limit, remaining, resetMs }: WindowReading, callNumber: number, sentMs: number, nowMs: number): void {
    let window = this.#windows.get(periodMs);
    if (window === undefined) {
      window = newWindow(periodMs, false, nowMs + periodMs);
      window.own.add(nowMs);
      this.#windows.set(periodMs, window);
    }
    if (window.stated !== null && callNumber < window.stated.callNumber && nowMs < window.stated.untilMs) return;
    if (!window.isStated || (limit !== null && window.limit !== null && limit < window.limit)) window.limit = limit ?? window.limit;
    // Calls that were unanswered when the service decided on this one may be missing in `remaining`. The log has them all, except for those
    // that were answered before the first window was known.
    const unanswered = this.#log.unansweredAt(sentMs + this.#leastMs) - 1;
    const left = remaining - Math.max(unanswered, this.#log.last - callNumber);
    // Until its first answer a resumed run does not know what others have spent meanwhile.
    if (window.stated?.callNumber === RESTORED) window.hasOtherClients = false;
    // A stated window ends a period after the answer at the latest.
    const untilMs = nowMs + Math.min(resetMs === null ? Infinity : resetMs + ROUNDING_MS, periodMs + (resetMs === null ? 0 : ROUNDING_MS));
    window.stated = { callNumber, left, untilMs, hasReset: resetMs !== null };
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
