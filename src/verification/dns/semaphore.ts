/** Runs at most `limit` tasks at once. The others wait in order. */
export class Semaphore {
  readonly #limit: number;
  readonly #waiting = new Set<() => void>();
  #running = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#limit) await new Promise<void>((resolve) => this.#waiting.add(resolve));
    else this.#running++;
    try {
      return await work();
    } finally {
      this.#release();
    }
  }

  /** Hands the permit to the caller that waits longest. */
  #release(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#running--;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
