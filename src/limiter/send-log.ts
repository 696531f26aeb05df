/** When our own calls were sent, as far back as a window reaches. Pure: time is passed in. */

const SMALLEST = 256;

export class SendLog {
  /** A ring: the call with ticket t is at t & (length - 1). Times never go back. */
  #times = new Float64Array(SMALLEST);
  /** The last ticket given out, and the oldest that is still kept; tickets count from 1. */
  #last = 0;
  #oldest = 1;

  get last(): number {
    return this.#last;
  }

  /** @param keepFromMs what was sent before may be forgotten. Returns the call's ticket. */
  add(nowMs: number, keepFromMs: number): number {
    while (this.#oldest <= this.#last && this.#at(this.#oldest) < keepFromMs) this.#oldest++;
    if (this.#last - this.#oldest + 1 >= this.#times.length) this.#grow();
    const at = this.#last >= this.#oldest ? Math.max(nowMs, this.#at(this.#last)) : nowMs;
    this.#last++;
    this.#times[this.#last & (this.#times.length - 1)] = at;
    return this.#last;
  }

  /** Null when it is too long ago to be known. */
  sentAt(ticket: number): number | null {
    return ticket < this.#oldest || ticket > this.#last ? null : this.#at(ticket);
  }

  /** How many were sent after `ms`. */
  countAfter(ms: number): number {
    return this.#last - this.#lastUpTo(ms);
  }

  /** When the first after `ms` was sent; Infinity: none was. */
  firstAfter(ms: number): number {
    const ticket = this.#lastUpTo(ms) + 1;
    return ticket > this.#last ? Infinity : this.#at(ticket);
  }

  /** The last ticket sent up to `ms`, or the one before the oldest that is kept. */
  #lastUpTo(ms: number): number {
    let low = this.#oldest - 1;
    let high = this.#last;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (this.#at(middle) <= ms) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #at(ticket: number): number {
    return this.#times[ticket & (this.#times.length - 1)] as number;
  }

  #grow(): void {
    const larger = new Float64Array(this.#times.length * 2);
    for (let ticket = this.#oldest; ticket <= this.#last; ticket++) larger[ticket & (larger.length - 1)] = this.#at(ticket);
    this.#times = larger;
  }
}
