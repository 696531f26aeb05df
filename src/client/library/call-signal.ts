/** The longest delay of a timer; a longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * One signal for a call out of several reasons to end it. Dispose it after the call: `AbortSignal.any` and `AbortSignal.timeout` would keep
 * memory of each call for as long as the client lives.
 */
export class CallSignal {
  readonly #controller = new AbortController();
  readonly #sources: readonly AbortSignal[];
  readonly #total: Timer | undefined;
  #next: Timer | undefined;
  #isLate = false;
  readonly #onAbort = (): void => this.#controller.abort();

  /** @param limitMs ends the call with a `TimeoutError`; null for no limit */
  constructor(sources: readonly (AbortSignal | undefined)[], limitMs: number | null) {
    this.#sources = sources.filter((source) => source !== undefined);
    for (const source of this.#sources) {
      if (source.aborted) this.#onAbort();
      else source.addEventListener('abort', this.#onAbort, { once: true });
    }
    if (limitMs !== null) this.#total = this.#timer(limitMs);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether a time limit ended the call. */
  get isLate(): boolean {
    return this.#isLate;
  }

  /** Ends the call unless this is called again, or the call is over, within `ms`. */
  expectWithin(ms: number): void {
    clearTimeout(this.#next);
    this.#next = this.#timer(ms);
  }

  /** Ends the call at once. */
  abort(): void {
    this.#controller.abort();
  }

  dispose(): void {
    clearTimeout(this.#total);
    clearTimeout(this.#next);
    for (const source of this.#sources) source.removeEventListener('abort', this.#onAbort);
  }

  #timer(ms: number): Timer {
    const late = (): void => {
      this.#isLate = true;
      this.#controller.abort(new DOMException('the call took too long', 'TimeoutError'));
    };
    const timer: Timer = setTimeout(late, Math.min(ms, MAX_TIMER_MS));
    // Browsers have numbers here.
    if (typeof timer === 'object') timer.unref();
    return timer;
  }
}

type Timer = ReturnType<typeof setTimeout>;
