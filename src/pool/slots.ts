import PQueue from 'p-queue';

/** Calls that wait behind each slot, so that a free slot never waits for the reader. */
const BACKLOG_PER_SLOT = 1;
/** Retried calls go before new ones. */
const REQUEUED = { priority: 1 } as const;

/** The slots for calls that run at once, and the queue behind them. The one owner of p-queue. */
export class CallSlots {
  readonly #queue: PQueue;
  #limit: number;
  #oneByOne = false;

  constructor(limit: number) {
    this.#limit = limit;
    this.#queue = new PQueue({ concurrency: limit });
  }

  /** The number of slots outside an outage. */
  get most(): number {
    return this.#limit;
  }

  set most(most: number) {
    this.#limit = most;
    if (!this.#oneByOne && this.#queue.concurrency !== most) this.#queue.concurrency = most;
  }

  /** Calls that wait for a slot. */
  get waiting(): number {
    return this.#queue.size;
  }

  get idle(): boolean {
    return this.#queue.size === 0 && this.#queue.pending === 0;
  }

  get isPaused(): boolean {
    return this.#queue.isPaused;
  }

  /** `work` never rejects. */
  add(work: () => Promise<void>, where: 'last' | 'first' = 'last'): void {
    void this.#queue.add(work, where === 'first' ? REQUEUED : undefined);
  }

  /** Back-pressure: null when more calls may be added, else a promise that resolves then. */
  room(): Promise<void> | null {
    const most = this.#limit * BACKLOG_PER_SLOT;
    // Half of the backlog leaves before the reader wakes: waking it for each call costs more than queueing the call.
    return this.#queue.size < most ? null : this.#queue.onSizeLessThan(Math.ceil(most / 2));
  }

  /** No call starts. */
  pause(): void {
    this.#oneByOne = true;
    this.#queue.pause();
    this.#queue.concurrency = 1;
  }

  /** After `pause`: one call at a time. */
  resumeOne(): void {
    this.#queue.start();
  }

  /** After `pause`: all slots again. */
  resumeAll(): void {
    this.#oneByOne = false;
    this.#queue.concurrency = this.#limit;
    this.#queue.start();
  }

  /** Drops the waiting calls. */
  clear(): void {
    this.#queue.clear();
  }

  /** Resolves when nothing runs. */
  whenDone(): Promise<void> {
    return this.#queue.onPendingZero();
  }
}
