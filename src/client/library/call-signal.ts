/**
 * One signal for a call out of several reasons to end it. Dispose it after the call: `AbortSignal.any` and `AbortSignal.timeout` would keep
 * memory of each call for as long as the client lives.
 */
export class CallSignal {
  readonly #controller = new AbortController();
  readonly #sources: readonly AbortSignal[];
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #onAbort = (): void => this.#controller.abort();

  /** @param limitMs ends the call with a `TimeoutError`; null for no limit */
  constructor(sources: readonly (AbortSignal | undefined)[], limitMs: number | null) {
    this.#sources = sources.filter((source) => source !== undefined);
    for (const source of this.#sources) {
      if (source.aborted) this.#onAbort();
      else source.addEventListener('abort', this.#onAbort, { once: true });
    }
    if (limitMs === null) return;
    this.#timer = setTimeout(() => this.#controller.abort(new DOMException('the call took too long', 'TimeoutError')), limitMs);
    this.#timer.unref();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  dispose(): void {
    clearTimeout(this.#timer);
    for (const source of this.#sources) source.removeEventListener('abort', this.#onAbort);
  }
}
