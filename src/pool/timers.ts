/** The longest delay that a timer takes; a longer one would fire at once. Longer waits are split. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Timers that are cleared together. */
export class Timers {
  readonly #running = new Set<NodeJS.Timeout>();

  after(ms: number, work: () => void): void {
    const timer = setTimeout(
      () => {
        this.#running.delete(timer);
        if (ms > LONGEST_TIMER_MS) this.after(ms - LONGEST_TIMER_MS, work);
        else work();
      },
      Math.min(ms, LONGEST_TIMER_MS),
    );
    this.#running.add(timer);
  }

  clear(): void {
    for (const timer of this.#running) clearTimeout(timer);
    this.#running.clear();
  }
}
