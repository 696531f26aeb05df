/** So many at once and no more; the others wait for their turn, in order. */
export class Lane {
  readonly #most: number;
  readonly #waiting = new Set<() => void>();
  #running = 0;

  constructor(most: number) {
    this.#most = most;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#most) await new Promise<void>((resolve) => this.#waiting.add(resolve));
    else this.#running++;
    try {
      return await work();
    } finally {
      this.#handOn();
    }
  }

  /** The place goes to whoever waits longest. */
  #handOn(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#running--;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
