/**
 * Several quota windows at once (second, hour, day), beside the one that the quota model keeps. A window is told by headers or
 * stated in the job. Pure: time is passed in, monotonic milliseconds.
 *
 * Told: what an answer says is left, less what was sent since and what was in flight, until the window's reset. It counts what
 * all clients of the key spend. Stated: this job's own calls, no more than the limit within any period. Where both are known,
 * and nobody else is on the key, the larger of the two counts: either alone keeps to a window.
 */
import type { WindowReading } from './quota-headers.ts';
import { SpentSlots, type KeptSlots } from './spent-slots.ts';

/** A window as a job states it. */
export interface StatedWindow {
  /** Requests. */
  readonly limit: number;
  readonly periodMs: number;
}

/** A window, as the checkpoint keeps it. Times are of the wall clock, milliseconds. */
export interface KeptWindow {
  readonly periodMs: number;
  readonly limit: number | null;
  /** What was left by the last answer; null: no header said so. */
  readonly left: number | null;
  readonly resetAtMs: number | null;
  readonly spent: KeptSlots;
  /** When it opens; left out: it is not used up, or nobody knows. For people: a resume counts anew. */
  readonly opensAtMs?: number;
}

/** Why nothing may be sent, and until when. */
export interface UsedUp {
  readonly periodMs: number;
  readonly limit: number | null;
  readonly untilMs: number;
}

/** A window of a minute or less is soon over: after a kill all of it counts as spent, and no call is claimed for it. */
const SOON_OVER_MS = 60_000;

/** Requests of the smallest window for which calls are claimed before they are sent; null: there is none. */
export function claimedFor(windows: readonly StatedWindow[]): number | null {
  const limits = windows.flatMap(({ limit, periodMs }) => (periodMs > SOON_OVER_MS ? [limit] : []));
  return limits.length === 0 ? null : Math.min(...limits);
}

/**
 * What a run that was killed may have sent, and did not live to count, counts as spent.
 * @param calls that it had claimed
 * @param atMs wall clock, when the last of them was sent
 */
export function withUncounted(windows: readonly KeptWindow[], calls: number, atMs: number): KeptWindow[] {
  return windows.map((window) => {
    const { limit, periodMs } = window;
    const most = periodMs > SOON_OVER_MS ? Math.min(calls, limit ?? calls) : (limit ?? calls);
    return most === 0 ? window : { ...window, spent: [...window.spent, [atMs, most] as const] };
  });
}

/** Whole seconds, of which nobody says whether they were rounded up or down. */
const SLACK_MS = 1_000;

interface Window {
  readonly periodMs: number;
  limit: number | null;
  readonly isStated: boolean;
  readonly own: SpentSlots;
  /** By the answer to the call of `ticket`; null: no header told of it, or its reset is over. */
  told: { ticket: number; left: number; untilMs: number } | null;
  /** Somebody else was seen to spend. */
  others: boolean;
  /** The call that asks how things stand after a reset; null: none is under way. */
  probe: number | null;
}

export class QuotaWindows {
  readonly #windows = new Map<number, Window>();
  readonly #inFlight = new Set<number>();
  #last = 0;
  #spreadMs = 0;
  #leastLatencyMs = Infinity;

  /** @param stated by the job */
  constructor(stated: readonly StatedWindow[] = []) {
    for (const { limit, periodMs } of stated) this.#windows.set(periodMs, { ...newWindow(periodMs, true), limit });
  }

  /** Whether there is a window to keep. */
  get active(): boolean {
    return this.#windows.size > 0;
  }

  /** How many calls may start now; Infinity: no window binds. */
  permits(nowMs: number): number {
    let most = Infinity;
    for (const window of this.#windows.values()) most = Math.min(most, this.#left(window, nowMs));
    return Math.max(0, Math.floor(most));
  }

  /** The window that opens last of those that are used up; null: a call may start, or an answer that may change it is under way. */
  usedUp(nowMs: number): UsedUp | null {
    let found: UsedUp | null = null;
    if (this.#inFlight.size > 0) return null;
    for (const window of this.#windows.values()) {
      if (this.#left(window, nowMs) >= 1) continue;
      const { periodMs, limit } = window;
      const untilMs = this.#opensAt(window, nowMs);
      if (found === null || untilMs > found.untilMs) found = { periodMs, limit, untilMs };
    }
    return found;
  }

  /** How long a refused call is to wait by its own headers, milliseconds: for the window that has nothing left; null: each has. */
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
      if (window.told !== null && nowMs < window.told.untilMs) window.told.left--;
      else window.probe ??= ticket;
    }
  }

  /** @param windows what the answer says; empty: nothing, or none came */
  answered(ticket: number, sentMs: number | null, windows: readonly WindowReading[], nowMs: number): void {
    this.#inFlight.delete(ticket);
    if (sentMs !== null) this.#noteLatency(nowMs - sentMs);
    for (const window of this.#windows.values()) if (window.probe === ticket) window.probe = null;
    for (const reading of windows) this.#tell(reading, ticket, nowMs);
  }

  /** For the checkpoint. @param wallMs wall clock of `nowMs` */
  keep(nowMs: number, wallMs: number): KeptWindow[] {
    return [...this.#windows.values()].map((window) => {
      const { periodMs, limit, told, own } = window;
      const opensMs = this.#left(window, nowMs) < 1 ? this.#opensAt(window, nowMs) : Infinity;
      return {
        periodMs,
        limit,
        left: told === null || nowMs >= told.untilMs ? null : Math.max(0, told.left),
        resetAtMs: told === null || nowMs >= told.untilMs ? null : Math.round(told.untilMs - nowMs + wallMs),
        spent: own.keep(nowMs, wallMs),
        ...(opensMs === Infinity ? {} : { opensAtMs: Math.round(opensMs - nowMs + wallMs) }),
      };
    });
  }

  /** What the run before has spent. A window that the job stated then and does not now is forgotten. */
  restore(kept: readonly KeptWindow[], nowMs: number, wallMs: number): void {
    for (const { periodMs, limit, left, resetAtMs, spent } of kept) {
      const told = left === null || resetAtMs === null ? null : { ticket: 0, left, untilMs: nowMs + Math.min(resetAtMs - wallMs, periodMs + SLACK_MS) };
      const stands = told !== null && told.untilMs > nowMs;
      const window = this.#windows.get(periodMs) ?? (stands ? newWindow(periodMs, false) : null);
      if (window === null) continue;
      this.#windows.set(periodMs, window);
      window.limit ??= limit;
      window.own.restore(spent, nowMs, wallMs);
      if (!stands) continue;
      window.told = told;
      // What others have spent meanwhile is not known: the first answer tells.
      window.others = true;
    }
  }

  #tell({ periodMs, limit, remaining, resetMs }: WindowReading, ticket: number, nowMs: number): void {
    const window = this.#windows.get(periodMs) ?? newWindow(periodMs, false);
    if (!this.#windows.has(periodMs)) {
      this.#windows.set(periodMs, window);
      for (let sent = this.#inFlight.size + 1; sent > 0; sent--) window.own.add(nowMs);
    }
    if (window.told !== null && ticket < window.told.ticket && nowMs < window.told.untilMs) return;
    if (!window.isStated || (limit !== null && window.limit !== null && limit < window.limit)) window.limit = limit ?? window.limit;
    let below = 0;
    for (const other of this.#inFlight) {
      if (other >= ticket) break;
      below++;
    }
    const left = remaining - (this.#last - ticket) - below;
    // A window that an answer speaks of ends a period after it at the latest.
    const untilMs = nowMs + Math.min(resetMs === null ? Infinity : resetMs + SLACK_MS, periodMs + (resetMs === null ? 0 : SLACK_MS));
    window.told = { ticket, left, untilMs };
    if (limit !== null && limit - remaining > window.own.within(nowMs, periodMs + this.#spreadMs)) window.others = true;
  }

  #left(window: Window, nowMs: number): number {
    const { told, limit, own, periodMs, isStated, others, probe } = window;
    const byOwn = limit === null ? 0 : limit - own.within(nowMs, periodMs + this.#spreadMs);
    if (told !== null && nowMs < told.untilMs) return others || (limit === null && !isStated) ? told.left : Math.max(told.left, byOwn);
    if (told === null && isStated) return byOwn;
    if (!others && byOwn >= 1) return byOwn;
    // The reset is over: one call asks how things stand.
    return probe === null ? 1 : 0;
  }

  #opensAt(window: Window, nowMs: number): number {
    const { told, limit, own, periodMs, isStated, others } = window;
    const byOwn = limit === null || others ? Infinity : own.freeAt(nowMs, periodMs + this.#spreadMs, limit);
    if (told !== null && nowMs < told.untilMs) return Math.min(told.untilMs, byOwn);
    return isStated || told === null ? byOwn : Infinity;
  }

  /** What is sent a period apart may arrive closer than that, by as much as latencies differ. */
  #noteLatency(ms: number): void {
    this.#leastLatencyMs = Math.min(this.#leastLatencyMs, ms);
    this.#spreadMs = Math.min(2_000, Math.max(this.#spreadMs * 0.999, ms - this.#leastLatencyMs));
  }
}

function newWindow(periodMs: number, isStated: boolean): Window {
  return { periodMs, limit: null, isStated, own: new SpentSlots(periodMs), told: null, others: false, probe: null };
}
