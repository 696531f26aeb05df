/** Fixed windows: each opens at the first request after the one before has ended, and counts what it lets through. */

export type WindowName = 'second' | 'minute' | 'hour' | 'day' | 'month';

export interface StandInWindow {
  readonly name: WindowName;
  readonly limit: number;
  /** The length. Tests shorten it; the default is the length that the name says. */
  readonly ms?: number;
}

/** One window after a request. */
export interface WindowState {
  readonly name: WindowName;
  readonly limit: number;
  readonly used: number;
  readonly left: number;
  /** When it ends, by the clock of the stand-in. */
  readonly resetsAt: number;
}

const LENGTH_MS: Readonly<Record<WindowName, number>> = {
  second: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  month: 30 * 86_400_000,
};

export class FixedWindows {
  readonly #windows: { readonly name: WindowName; readonly limit: number; readonly ms: number; used: number; resetsAt: number }[];

  constructor(windows: readonly StandInWindow[]) {
    this.#windows = windows.map(({ name, limit, ms }) => ({ name, limit, ms: ms ?? LENGTH_MS[name], used: 0, resetsAt: -Infinity }));
  }

  /** Counts a request in every window and returns null, or returns the first full window and counts nothing. `units` is its weight. */
  take(now: number, units = 1): WindowState | null {
    for (const window of this.#windows) {
      if (now >= window.resetsAt) {
        window.used = 0;
        window.resetsAt = now + window.ms;
      }
    }
    const full = this.#windows.find(({ used, limit }) => used + units > limit);
    if (full !== undefined) return stateOf(full);
    for (const window of this.#windows) window.used += units;
    return null;
  }

  get states(): WindowState[] {
    return this.#windows.map(stateOf);
  }
}

function stateOf({ name, limit, used, resetsAt }: Omit<WindowState, 'left'>): WindowState {
  return { name, limit, used, left: Math.max(0, limit - used), resetsAt };
}
