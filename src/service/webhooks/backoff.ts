/** Backoff: destinations whose receiver asked for a pause, and until when. Pure. */
import { LONGEST_PAUSE_MS } from './retry-schedule.ts';
import { destinationName, type Destination } from './concurrency.ts';

/** Paused destinations that are remembered. Beyond this the oldest is forgotten; its receiver asks again. */
const MAX_PAUSED = 10_000;

export class HostBackoff {
  readonly #until = new Map<string, number>();

  /** Pauses a destination for `forMs` milliseconds. A longer pause that is under way stays. */
  pause(destination: Destination, nowMs: number, forMs: number): void {
    if (forMs <= 0) return;
    const name = destinationName(destination);
    const untilMs = Math.max(nowMs + forMs, this.isPaused(destination, nowMs) ? (this.#until.get(name) ?? 0) : 0);
    this.#until.set(name, untilMs);
    if (this.#until.size > MAX_PAUSED) this.#until.delete(this.#until.keys().next().value as string);
  }

  isPaused(destination: Destination, nowMs: number): boolean {
    const name = destinationName(destination);
    const leftMs = (this.#until.get(name) ?? 0) - nowMs;
    // A longer rest than any pause means that the clock was ahead when the pause was set.
    const isPaused = leftMs > 0 && leftMs <= LONGEST_PAUSE_MS;
    if (!isPaused) this.#until.delete(name);
    return isPaused;
  }
}
