import { busyFailure } from '../failure.ts';
import { BUSY_MS } from '../schema.ts';

/** A transaction takes a millisecond or less, one that is flushed to the disk some tens. */
const FIRST_PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 100;
/** The next pause is the time for which the file has been busy, divided by this. */
const PAUSE_SHARE = 8;

/** How long another process has kept a file locked, and when this run tries it again. */
export class BusyClock {
  readonly #path: string;
  readonly #monotonicNow: () => number;
  #sinceMs: number | null = null;

  /** @param path the ledger's, for the message. @param monotonicNow monotonic milliseconds */
  constructor(path: string, monotonicNow: () => number) {
    this.#path = path;
    this.#monotonicNow = monotonicNow;
  }

  /**
   * Notes and returns the result of a try; null when the file was busy. @throws MillraceError 75 when it has been busy for longer than a
   * write to the ledger waits
   */
  unlessBusy<T>(result: T | null): T | null {
    this.#sinceMs = result === null ? (this.#sinceMs ?? this.#monotonicNow()) : null;
    if (this.#sinceMs !== null && this.#monotonicNow() - this.#sinceMs > BUSY_MS) throw busyFailure(this.#path);
    return result;
  }

  /** When the run gives up, monotonic milliseconds; null while the file is not busy. */
  get untilMs(): number | null {
    return this.#sinceMs === null ? null : this.#sinceMs + BUSY_MS;
  }

  /** How long to wait before the next try, milliseconds. */
  get pauseMs(): number {
    const busyMs = this.#sinceMs === null ? 0 : this.#monotonicNow() - this.#sinceMs;
    return Math.min(LONGEST_PAUSE_MS, Math.max(FIRST_PAUSE_MS, busyMs / PAUSE_SHARE));
  }
}
