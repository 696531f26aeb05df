/** Times the checks of one address, one after the other. Pure. */
import type { Check } from './types.ts';

export class Stopwatch {
  readonly #clock: () => number;
  #sinceMs: number;

  /** @param clock monotonic, milliseconds. */
  constructor(clock: () => number) {
    this.#clock = clock;
    this.#sinceMs = clock();
  }

  /** A check whose time runs from the previous check, or from the start, until now. */
  check(name: Check['name'], result: string, detail: string | null): Check {
    const nowMs = this.#clock();
    const ms = Math.round((nowMs - this.#sinceMs) * 1000) / 1000;
    this.#sinceMs = nowMs;
    return { name, result, detail, ms };
  }
}
