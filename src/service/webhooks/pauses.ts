/** Whom a receiver has asked to be left alone, and until when. Pure. */
import { LONGEST_PAUSE_MS } from './retries.ts';
import { nameOf, type Lane } from './slots.ts';

/** Of more of them those that were noted first are forgotten, and are told again. */
const MOST_PAUSED = 10_000;

export class Pauses {
  readonly #until = new Map<string, number>();

  /** Nothing is to be sent by a key to a host for so long, milliseconds; what was asked for before and lasts longer holds. */
  pause(lane: Lane, nowMs: number, forMs: number): void {
    if (forMs <= 0) return;
    const name = nameOf(lane);
    const untilMs = Math.max(nowMs + forMs, this.isPaused(lane, nowMs) ? (this.#until.get(name) ?? 0) : 0);
    this.#until.set(name, untilMs);
    if (this.#until.size > MOST_PAUSED) this.#until.delete(this.#until.keys().next().value as string);
  }

  isPaused(lane: Lane, nowMs: number): boolean {
    const name = nameOf(lane);
    const leftMs = (this.#until.get(name) ?? 0) - nowMs;
    // None is that long: it was noted by a clock that was ahead.
    const isPaused = leftMs > 0 && leftMs <= LONGEST_PAUSE_MS;
    if (!isPaused) this.#until.delete(name);
    return isPaused;
  }
}
