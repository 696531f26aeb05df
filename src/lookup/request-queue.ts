import { LookupQueue, type LookupGroup } from './lookup-queue.ts';
import type { RequestPace } from './step-context.ts';
import type { SizeChange } from './request-size.ts';

/** How long lookups wait for a full request, milliseconds, where their order fixes no request. */
export const LONGEST_FILL_MS = 2_000;

interface RequestQueueOptions {
  /** Lookups in a full request. */
  readonly batch: number;
  /** A changed size waits until a checkpoint has it. */
  readonly isOrdered: boolean;
  /** null for requests that are always full, with as many in flight as the pool takes. */
  readonly pace: RequestPace | null;
  readonly send: (group: LookupGroup) => void;
  /** The awaited checkpoint is written: more requests may go. */
  readonly onKept: () => void;
}

/**
 * Cuts waiting lookups into requests. Where their order decides the requests and the size changes, nothing is sent until all requests in
 * flight are answered and a checkpoint has the new size. A resume would otherwise fill other requests, under other Idempotency-Keys.
 * Elsewhere lookups that have waited for `LONGEST_FILL_MS` go as they are, once no request of the step is in flight.
 */
export class RequestQueue {
  readonly #options: RequestQueueOptions;
  #lookups = new LookupQueue();
  #inFlight = 0;
  /** The change that no checkpoint has yet. */
  #news: SizeChange = null;
  #isKeeping = false;
  #isStopped = false;
  /** Runs out when lookups have waited long enough for a full request. */
  #fillTimer: NodeJS.Timeout | null = null;
  #isOverdue = false;

  constructor(options: RequestQueueOptions) {
    this.#options = options;
  }

  /** Lookups that wait for a request. */
  get size(): number {
    return this.#lookups.size;
  }

  /** Whether a checkpoint is awaited. */
  get isKeeping(): boolean {
    return this.#isKeeping;
  }

  /** Lookups in a full request now; null for a fixed size. */
  get most(): number | null {
    return this.#options.pace?.sizes.size ?? null;
  }

  /** Attempts at a request that fail late, before it counts as too large. One such failure may be a restart of the service. */
  lateAttempts(lookups: number): number {
    return this.#options.pace?.sizes.hasFailed(lookups) === true ? 1 : 2;
  }

  add(key: string): void {
    this.#lookups.add(key);
    this.sendNext();
  }

  /** Sends the waiting lookups, in full requests or not, as far as the service can take them now. */
  flush(): void {
    this.#lookups.close();
    this.sendNext();
  }

  /** A request of these lookups leaves. */
  left(): void {
    this.#inFlight++;
  }

  /** A request has ended and is settled. @param answeredMs the latency of the answer; null without one */
  ended(lookups: number, answeredMs: number | null): void {
    this.#inFlight--;
    if (answeredMs !== null) this.#hear(this.#options.pace?.sizes.answered(lookups, answeredMs) ?? null);
  }

  /** A request leaves, and is under way until its slot is free. @returns `free` counts once; null for a request without an answer */
  takeSlot(lookups: number): { free(answeredMs: number | null): void } {
    this.left();
    let isFree = false;
    return {
      free: (answeredMs) => {
        if (isFree) return;
        isFree = true;
        this.ended(lookups, answeredMs);
        this.sendNext();
      },
    };
  }

  /**
   * A request was too large for the service.
   * @param why for a sentence that begins with its name
   * @returns false: requests are always full here
   */
  wasTooLarge(lookups: number, why: string): boolean {
    const { pace } = this.#options;
    if (pace === null) return false;
    const isSmaller = pace.sizes.tooLarge(lookups, this.#inFlight);
    pace.tooLarge(why, isSmaller);
    if (isSmaller) this.#hear('size');
    return true;
  }

  /** Puts lookups back into their old place. */
  putBack(group: LookupGroup): void {
    this.#lookups.putBack(group);
  }

  /** Forgets the waiting lookups. */
  clear(): void {
    this.#lookups = new LookupQueue();
    this.#endWait();
  }

  /** Sends nothing more; the run's last checkpoint has the current size. */
  stop(): void {
    this.#isStopped = true;
    this.#endWait();
    const isDone = this.#inFlight === 0 && this.size === 0;
    if (this.#news !== null || isDone) this.#options.pace?.note(isDone);
  }

  sendNext(): void {
    if (this.#isOverdue && this.#inFlight === 0) this.#lookups.close();
    this.#sendAll();
    if (this.size === 0) this.#endWait();
    else this.#wait();
  }

  #sendAll(): void {
    const { batch, pace, send } = this.#options;
    // Without waiting lookups no checkpoint is needed: the run may be ending, and its last checkpoint has the size.
    if (this.#news !== null && this.size > 0) this.#keep();
    if (this.#news !== null || this.#isKeeping) return;
    for (let next = this.#lookups.next; next !== null && pace?.sizes.mayGo(this.#inFlight) !== false; next = this.#lookups.next) {
      const { waiting, isClosed } = next;
      const lookups = pace?.sizes.next(waiting, isClosed) ?? (waiting >= batch ? batch : isClosed ? waiting : 0);
      if (lookups === 0) return;
      this.#endWait();
      send(this.#lookups.take(lookups));
    }
  }

  #wait(): void {
    if (this.#options.isOrdered || this.#isStopped || this.#isOverdue) return;
    this.#fillTimer ??= setTimeout(() => {
      this.#isOverdue = true;
      this.sendNext();
    }, LONGEST_FILL_MS);
  }

  #endWait(): void {
    if (this.#fillTimer !== null) clearTimeout(this.#fillTimer);
    this.#fillTimer = null;
    this.#isOverdue = false;
  }

  #hear(news: SizeChange): void {
    if (news === null) return;
    if (!this.#options.isOrdered) {
      this.#options.pace?.note(false);
      return;
    }
    if (this.#news !== 'size') this.#news = news;
    if (this.#isStopped) this.#options.pace?.note(false);
  }

  #keep(): void {
    if (this.#inFlight > 0 || this.#isKeeping || this.#isStopped) return;
    const withAnswers = this.#news === 'size';
    this.#news = null;
    this.#isKeeping = true;
    this.#options.pace?.keep(withAnswers, () => {
      this.#isKeeping = false;
      this.sendNext();
      this.#options.onKept();
    });
  }
}
