/** How late the event loop is: the most by which a timer was late within the last quarter of a minute. */

const LOOK_EVERY_MS = 100;
const WINDOW_MS = 15_000;

export class LoopLag {
  readonly #timer: NodeJS.Timeout;
  readonly #clock: () => number;
  #dueMs: number;
  #windowSinceMs: number;
  #worstMs = 0;
  #worstBeforeMs = 0;

  /** @param clock monotonic, milliseconds */
  constructor(clock: () => number) {
    this.#clock = clock;
    this.#windowSinceMs = clock();
    this.#dueMs = this.#windowSinceMs + LOOK_EVERY_MS;
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS);
    this.#timer.unref();
  }

  /** Milliseconds. */
  get worstMs(): number {
    return Math.max(this.#worstMs, this.#worstBeforeMs);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const nowMs = this.#clock();
    if (nowMs - this.#windowSinceMs > WINDOW_MS) {
      this.#worstBeforeMs = this.#worstMs;
      this.#worstMs = 0;
      this.#windowSinceMs = nowMs;
    }
    this.#worstMs = Math.max(this.#worstMs, nowMs - this.#dueMs);
    this.#dueMs = nowMs + LOOK_EVERY_MS;
  }
}
