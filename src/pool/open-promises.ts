/**
 * The promised answers that a run waits for, at all its providers. While there are some, credits that are reserved for them may still
 * become free. Pure.
 */
export class OpenPromises {
  #open = 0;
  readonly #listeners: (() => void)[] = [];

  /** Promises without an answer that this run asks for. */
  get open(): number {
    return this.#open;
  }

  began(): void {
    this.#open++;
  }

  /** So many were answered, or are left to the next run. */
  ended(promises: number): void {
    if (promises === 0) return;
    this.#open -= promises;
    for (const listener of this.#listeners) listener();
  }

  /** @param listener called each time that promises have ended */
  onEnded(listener: () => void): void {
    this.#listeners.push(listener);
  }
}
