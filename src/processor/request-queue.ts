import { AddressQueue, type Group } from './address-queue.ts';
import type { RequestPace } from './context.ts';
import type { SizeChange } from './request-size.ts';

export interface RequestQueueOptions {
  /** Addresses in a full request. */
  readonly batch: number;
  /** Null: requests are always full, and as many in flight as the pool takes. */
  readonly pace: RequestPace | null;
  readonly send: (group: Group) => void;
  /** A checkpoint that was waited for is written: something may be able to move. */
  readonly onKept: () => void;
}

/**
 * Cuts the waiting addresses into requests. While the size of a request changes nothing is sent: first what is in flight is
 * answered, then a resume is made to begin with the new size. A resume would otherwise fill other requests, under other keys.
 */
export class RequestQueue {
  readonly #options: RequestQueueOptions;
  readonly #addresses = new AddressQueue();
  #inFlight = 0;
  /** What a resume does not know yet. */
  #news: SizeChange = null;
  #isKeeping = false;
  #isStopped = false;

  constructor(options: RequestQueueOptions) {
    this.#options = options;
  }

  /** Addresses that wait for a request. */
  get size(): number {
    return this.#addresses.size;
  }

  /** Whether a checkpoint is waited for. */
  get isKeeping(): boolean {
    return this.#isKeeping;
  }

  /** Addresses in a full request now; null: it never changes. */
  get most(): number | null {
    return this.#options.pace?.sizes.size ?? null;
  }

  /** Attempts at a request that fail late, before it counts as too large. One such failure may be a restart of the service. */
  lateAttempts(addresses: number): number {
    return this.#options.pace?.sizes.hasFailed(addresses) === true ? 1 : 2;
  }

  add(email: string): void {
    this.#addresses.add(email);
    this.sendNext();
  }

  /** What has been gathered goes, full or not, as far as the service can take it now. */
  flush(): void {
    this.#addresses.close();
    this.sendNext();
  }

  /** A request of these addresses leaves. */
  left(): void {
    this.#inFlight++;
  }

  /** It ended, and what it brought is settled. @param answeredMs how long the answer took; null: none came */
  ended(addresses: number, answeredMs: number | null): void {
    this.#inFlight--;
    if (answeredMs !== null) this.#hear(this.#options.pace?.sizes.answered(addresses, answeredMs) ?? null);
  }

  /**
   * A request was too large for the service.
   * @param why for a sentence that begins with "verify requests"
   * @returns false: requests are always full here
   */
  wasTooLarge(addresses: number, why: string): boolean {
    const { pace } = this.#options;
    if (pace === null) return false;
    const isSmaller = pace.sizes.tooLarge(addresses, this.#inFlight);
    pace.tooLarge(why, isSmaller);
    if (isSmaller) this.#hear('size');
    return true;
  }

  /** These addresses wait again, in their old place. */
  putBack(group: Group): void {
    this.#addresses.putBack(group);
  }

  /** Nothing is sent any more; the run's last checkpoint has the size of now. */
  stop(): void {
    this.#isStopped = true;
    const isDone = this.#inFlight === 0 && this.size === 0;
    if (this.#news !== null || isDone) this.#options.pace?.note(isDone);
  }

  sendNext(): void {
    const { batch, pace, send } = this.#options;
    // Where nothing waits, nothing needs it: the run may be about to end, and its last checkpoint has the size as well.
    if (this.#news !== null && this.size > 0) this.#keep();
    if (this.#news !== null || this.#isKeeping) return;
    for (let next = this.#addresses.next; next !== null && pace?.sizes.mayGo(this.#inFlight) !== false; next = this.#addresses.next) {
      const { waiting, isClosed } = next;
      const addresses = pace?.sizes.next(waiting, isClosed) ?? (waiting >= batch ? batch : isClosed ? waiting : 0);
      if (addresses === 0) return;
      send(this.#addresses.take(addresses));
    }
  }

  #hear(news: SizeChange): void {
    if (news === null) return;
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
