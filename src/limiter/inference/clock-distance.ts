/**
 * How far the service's clock is ahead of the local one, where its answers have no `Date`. A reset that is stated as a time shows it: the
 * reset of a window lies between now and the end of a period. Pure.
 */

/** Resets may be rounded up to whole seconds. */
const WHOLE_SECOND_MS = 1_000;

export class ClockDistance {
  /** The distance, at least and at most. */
  #least = -Infinity;
  #most = Infinity;

  /**
   * Milliseconds until the reset. While the local clock may be right, it is believed.
   * @param localMs the stated reset, less the local time. @param periodMs the length of the window
   */
  untilReset(localMs: number, periodMs: number): number {
    const [least, most] = [localMs - periodMs - WHOLE_SECOND_MS, localMs];
    [this.#least, this.#most] = [Math.max(this.#least, least), Math.min(this.#most, most)];
    // A clock was set, or the window is another one.
    if (this.#least > this.#most) [this.#least, this.#most] = [least, most];
    const distanceMs = this.#least <= 0 && this.#most >= 0 ? 0 : this.#least;
    return Math.max(0, localMs - distanceMs);
  }
}
