import PQueue from 'p-queue';

/** Calls kept waiting behind each that may run, so that a free slot never waits for the reader. */
const BACKLOG_PER_SLOT = 1;
/** What was sent back to wait goes before what never left. */
const AGAIN = { priority: 1 } as const;

/** How many at once, and who waits behind them. The one owner of p-queue. */
export class Slots {
  readonly #queue: PQueue;
  #most: number;
  #oneByOne = false;

  constructor(most: number) {
    this.#most = most;
    this.#queue = new PQueue({ concurrency: most });
  }

  /** At once, while nothing is wrong. */
  get most(): number {
    return this.#most;
  }

  set most(most: number) {
    this.#most = most;
    if (!this.#oneByOne && this.#queue.concurrency !== most) this.#queue.concurrency = most;
  }

  /** Waiting for a slot. */
  get waiting(): number {
    return this.#queue.size;
  }

  get idle(): boolean {
    return this.#queue.size === 0 && this.#queue.pending === 0;
  }

  get standingStill(): boolean {
    return this.#queue.isPaused;
  }

  /** `work` never rejects. */
  add(work: () => Promise<void>, where: 'last' | 'first' = 'last'): void {
    void this.#queue.add(work, where === 'first' ? AGAIN : undefined);
  }

  /** Back-pressure: null when more are welcome, else a promise of that. */
  room(): Promise<void> | null {
    const most = this.#most * BACKLOG_PER_SLOT;
    // Half of the backlog goes before the reader is woken: waking it for each call costs more than the call's own queueing.
    return this.#queue.size < most ? null : this.#queue.onSizeLessThan(Math.ceil(most / 2));
  }

  /** Nothing starts any more, whatever waits. */
  standStill(): void {
    this.#oneByOne = true;
    this.#queue.pause();
    this.#queue.concurrency = 1;
  }

  /** After standing still: one may start, and the next when that is done. */
  letOneGo(): void {
    this.#queue.start();
  }

  /** After standing still: as many at once as before. */
  letAllGo(): void {
    this.#oneByOne = false;
    this.#queue.concurrency = this.#most;
    this.#queue.start();
  }

  /** Forgets who waits. */
  clear(): void {
    this.#queue.clear();
  }

  /** Resolves when nothing runs. */
  whenDone(): Promise<void> {
    return this.#queue.onPendingZero();
  }
}
