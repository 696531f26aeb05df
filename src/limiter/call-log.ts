/**
 * When our own calls were sent and answered, as far back as a window reaches. When the service decided on a call is
 * not seen; it is known to lie between the two. Pure: time is passed in.
 */

const SMALLEST = 256;

export class CallLog {
  /** By ticket, which count from 1: when each call was sent. Times never go back. */
  readonly #sent = new Times();
  /** In the order in which calls were answered: when, and when each had been sent. */
  readonly #answered = new Times();
  readonly #answeredSent = new Times();
  /** In the order in which they were sent. */
  readonly #inFlight = new Set<number>();
  #restored = { calls: 0, atMs: -Infinity };

  /** The last ticket given out; 0: none was. */
  get last(): number {
    return this.#sent.last;
  }

  /** Calls that are not answered yet. */
  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** Of these, those that were sent after `ms`. */
  inFlightSince(ms: number): number {
    return this.#inFlight.size - this.#stillUnderWay(ms);
  }

  /** A call is sent. @param keepFromMs what was sent before may be forgotten; @param keepAnsweredFromMs so may what was answered. Returns the call's ticket. */
  sent(nowMs: number, keepFromMs: number, keepAnsweredFromMs = keepFromMs): number {
    this.#sent.forget(keepFromMs);
    const forgotten = this.#answered.forget(keepAnsweredFromMs);
    this.#answeredSent.drop(forgotten);
    const ticket = this.#sent.add(nowMs);
    this.#inFlight.add(ticket);
    return ticket;
  }

  /** A call is answered, or has failed. Returns when it was sent. */
  answered(ticket: number, nowMs: number): number {
    const sentMs = this.#sent.at(ticket) ?? nowMs;
    this.#inFlight.delete(ticket);
    this.#answered.add(nowMs);
    this.#answeredSent.add(sentMs, false);
    return sentMs;
  }

  /** Calls of an earlier run. That the service has counted them is not certain. */
  restore(calls: number, atMs: number): void {
    for (let i = 0; i < calls; i++) {
      this.#sent.add(atMs);
      this.#answered.add(atMs);
      this.#answeredSent.add(atMs, false);
    }
    this.#restored = { calls, atMs };
  }

  /** When a call was sent; null when that is too long ago to be known. */
  sentAt(ticket: number): number | null {
    return this.#sent.at(ticket);
  }

  /** How many were sent after `ms`. */
  sentAfter(ms: number): number {
    return this.#sent.countAfter(ms);
  }

  /** When the first after `ms` was sent; Infinity: none was. */
  firstSentAfter(ms: number): number {
    return this.#sent.firstAfter(ms);
  }

  /** How many were not answered up to `ms`. */
  unansweredAt(ms: number): number {
    return this.#inFlight.size + this.#answered.countAfter(ms);
  }

  /** When the first after `ms` was answered; Infinity: none was. */
  firstAnsweredAfter(ms: number): number {
    return this.#answered.firstAfter(ms);
  }

  /** How many were sent after one moment and answered up to another, but those of an earlier run. */
  within(sentAfterMs: number, answeredUpToMs: number): number {
    if (answeredUpToMs <= sentAfterMs) return 0;
    const first = this.#answered.last - this.#answered.countAfter(sentAfterMs) + 1;
    const last = this.#answered.last - this.#answered.countAfter(answeredUpToMs);
    let count = last - first + 1;
    // Those that were under way at the first moment were sent before it; but those that still are were not answered since.
    let underWay = first - 1 - (this.#sent.last - this.#sent.countAfter(sentAfterMs)) + this.#stillUnderWay(sentAfterMs);
    for (let i = first; i <= last && underWay < 0; i++) {
      if ((this.#answeredSent.at(i) as number) > sentAfterMs) continue;
      count--;
      underWay++;
    }
    const { calls, atMs } = this.#restored;
    return atMs > sentAfterMs && atMs <= answeredUpToMs ? count - calls : count;
  }

  /** How many that were sent up to `ms` are not answered now. */
  #stillUnderWay(ms: number): number {
    let count = 0;
    for (const ticket of this.#inFlight) {
      if ((this.#sent.at(ticket) ?? -Infinity) > ms) break;
      count++;
    }
    return count;
  }
}

/** A ring that grows: the entry of number n, from 1, is at n & (length - 1). */
class Times {
  #times = new Float64Array(SMALLEST);
  #last = 0;
  #oldest = 1;

  get last(): number {
    return this.#last;
  }

  /** Returns its number. @param ordered a time before the last one becomes the last one's */
  add(ms: number, ordered = true): number {
    if (this.#last - this.#oldest + 1 >= this.#times.length) this.#grow();
    const at = ordered && this.#last >= this.#oldest ? Math.max(ms, this.#get(this.#last)) : ms;
    this.#last++;
    this.#times[this.#last & (this.#times.length - 1)] = at;
    return this.#last;
  }

  /** Forgets what was before `ms`; returns how many. */
  forget(ms: number): number {
    const from = this.#oldest;
    while (this.#oldest <= this.#last && this.#get(this.#oldest) < ms) this.#oldest++;
    return this.#oldest - from;
  }

  drop(count: number): void {
    this.#oldest += count;
  }

  /** Null when it is forgotten, or not there yet. */
  at(n: number): number | null {
    return n < this.#oldest || n > this.#last ? null : this.#get(n);
  }

  countAfter(ms: number): number {
    return this.#last - this.#lastUpTo(ms);
  }

  firstAfter(ms: number): number {
    return this.at(this.#lastUpTo(ms) + 1) ?? Infinity;
  }

  /** The number of the last up to `ms`, or the one before the oldest that is kept. */
  #lastUpTo(ms: number): number {
    let low = this.#oldest - 1;
    let high = this.#last;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (this.#get(middle) <= ms) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #get(n: number): number {
    return this.#times[n & (this.#times.length - 1)] as number;
  }

  #grow(): void {
    const larger = new Float64Array(this.#times.length * 2);
    for (let n = this.#oldest; n <= this.#last; n++) larger[n & (larger.length - 1)] = this.#get(n);
    this.#times = larger;
  }
}
