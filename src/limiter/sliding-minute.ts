/**
 * Never more than so many permits in any minute, wherever the minute begins. Pure: time is passed in.
 *
 * Even spacing alone does not give that: a timer that fires late, a permit kept in hand over a pause, and a minute that
 * begins at the right moment holds a call too many. So lease n + size waits until the last permit of lease n is a minute old.
 */
export const MINUTE_MS = 60_000;

export class SlidingMinute {
  /** When the last permit of each of the latest leases was used; -Infinity: not used yet. */
  readonly #usedAt: Float64Array;
  #current = -1;

  /** @param leases that fit into one minute */
  constructor(leases: number) {
    this.#usedAt = new Float64Array(Math.max(1, leases)).fill(-Infinity);
  }

  /** A permit of the current lease was used. */
  use(nowMs: number): void {
    if (this.#current >= 0) this.#usedAt[this.#current] = nowMs;
  }

  /** How long the next lease has to wait; 0: it may begin. */
  waitMs(nowMs: number): number {
    return Math.max(0, (this.#usedAt[this.#next] as number) + MINUTE_MS - nowMs);
  }

  /** A lease begins. */
  begin(): void {
    this.#current = this.#next;
    this.#usedAt[this.#current] = -Infinity;
  }

  get #next(): number {
    return (this.#current + 1) % this.#usedAt.length;
  }
}
