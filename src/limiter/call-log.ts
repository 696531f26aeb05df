/**
 * When our own calls were sent and answered, as far back as a window reaches. The service decides on a call at some moment between the two.
 * Pure: time is passed in.
 */

import { joinRecent, type RecentSlots } from './recent-slots.ts';

const SMALLEST = 256;

export class CallLog {
  /** When each call was sent, by number (from 1). Times never go back. */
  readonly #sent = new Times();
  /** In the order of the answers: when each call was answered, and when it was sent. */
  readonly #answered = new Times();
  readonly #answeredSent = new Times();
  /** When each call in flight was sent, in the order of sending. */
  readonly #inFlight = new Map<number, number>();
  /** Calls of earlier runs. */
  #restored: RecentSlots = [];
  /** When the last call of an earlier run was sent, at the latest. */
  restoredMs = -Infinity;

  /** The last number; 0 before the first call. */
  get last(): number {
    return this.#sent.last;
  }

  /** Calls that are not answered yet. */
  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** Calls in flight that were sent after `ms`. */
  inFlightSince(ms: number): number {
    return this.#inFlight.size - this.#stillUnderWay(ms);
  }

  /**
   * A call is sent. Returns its number.
   * @param keptMs older calls may be dropped, unless the answer to a call in flight may not have counted them. 0: nobody counts calls, and
   * there may be ten thousand a second
   */
  sent(nowMs: number, keptMs: number): number {
    this.#sent.forget(nowMs - keptMs);
    const [oldestMs = nowMs] = this.#inFlight.values();
    this.#answeredSent.drop(this.#answered.forget(keptMs === 0 ? nowMs : Math.min(nowMs - keptMs, oldestMs)));
    const callNumber = this.#sent.add(nowMs);
    this.#inFlight.set(callNumber, nowMs);
    return callNumber;
  }

  /** A call is answered, or has failed. Returns when it was sent. */
  answered(callNumber: number, nowMs: number): number {
    const sentMs = this.#inFlight.get(callNumber) ?? this.#sent.at(callNumber) ?? nowMs;
    this.#inFlight.delete(callNumber);
    this.#answered.add(nowMs);
    this.#answeredSent.add(sentMs, false);
    return sentMs;
  }

  /** Adds calls of an earlier run since `fromMs`, before any other call. The service may not have counted them. */
  restore(slots: RecentSlots, fromMs = -Infinity): void {
    this.restoredMs = slots.findLast(([, calls]) => calls > 0)?.[0] ?? this.restoredMs;
    const recent = slots.filter(([endMs, calls]) => calls > 0 && endMs >= fromMs);
    for (const [atMs, calls] of recent) {
      for (let i = 0; i < calls; i++) {
        this.#sent.add(atMs);
        this.#answered.add(atMs);
        this.#answeredSent.add(atMs, false);
      }
    }
    this.#restored = [...this.#restored, ...recent];
  }

  /** Calls that the service may have counted after `nowMs - periodMs`, each at the latest time that is possible. */
  recent(nowMs: number, periodMs: number): RecentSlots {
    const slots: [number, number][] = [];
    for (let n = this.#answered.last - this.#answered.countAfter(nowMs - periodMs) + 1; n <= this.#answered.last; n++)
      slots.push([this.#answered.at(n) as number, 1]);
    if (this.#inFlight.size > 0) slots.push([nowMs, this.#inFlight.size]);
    return joinRecent(slots, periodMs);
  }

  /** When a call was sent; null when it has been dropped. */
  sentAt(callNumber: number): number | null {
    return this.#sent.at(callNumber);
  }

  /** Calls sent after `ms`. */
  sentAfter(ms: number): number {
    return this.#sent.countAfter(ms);
  }

  /** When the first call after `ms` was sent; Infinity without one. */
  firstSentAfter(ms: number): number {
    return this.#sent.firstAfter(ms);
  }

  /** Calls not answered up to `ms`. */
  unansweredAt(ms: number): number {
    return this.#inFlight.size + this.#answered.countAfter(ms);
  }

  /** When the first call after `ms` was answered; Infinity without one. */
  firstAnsweredAfter(ms: number): number {
    return this.#answered.firstAfter(ms);
  }

  /** Calls sent after one moment and answered up to another, without those of an earlier run. */
  within(sentAfterMs: number, answeredUpToMs: number): number {
    if (answeredUpToMs <= sentAfterMs) return 0;
    const first = this.#answered.last - this.#answered.countAfter(sentAfterMs) + 1;
    const last = this.#answered.last - this.#answered.countAfter(answeredUpToMs);
    let count = last - first + 1;
    // Calls in flight at the first moment were sent before it. Calls still in flight were not answered since.
    let underWay = first - 1 - (this.#sent.last - this.#sent.countAfter(sentAfterMs)) + this.#stillUnderWay(sentAfterMs);
    for (let i = first; i <= last && underWay < 0; i++) {
      if ((this.#answeredSent.at(i) as number) > sentAfterMs) continue;
      count--;
      underWay++;
    }
    for (const [atMs, calls] of this.#restored) if (atMs > sentAfterMs && atMs <= answeredUpToMs) count -= calls;
    return count;
  }

  /** Calls sent up to `ms` that are still in flight. */
  #stillUnderWay(ms: number): number {
    let count = 0;
    for (const sentMs of this.#inFlight.values()) {
      if (sentMs > ms) break;
      count++;
    }
    return count;
  }
}

/** A ring buffer that grows: entry n (from 1) is at n & (length - 1). */
class Times {
  #times = new Float64Array(SMALLEST);
  #last = 0;
  #oldest = 1;

  get last(): number {
    return this.#last;
  }

  /** Returns the number of the entry. @param ordered raises a time to the last entry's, if it is earlier */
  add(ms: number, ordered = true): number {
    if (this.#last - this.#oldest + 1 >= this.#times.length) this.#grow();
    const at = ordered && this.#last >= this.#oldest ? Math.max(ms, this.#get(this.#last)) : ms;
    this.#last++;
    this.#times[this.#last & (this.#times.length - 1)] = at;
    return this.#last;
  }

  /** Drops entries before `ms`; returns how many. */
  forget(ms: number): number {
    const from = this.#oldest;
    while (this.#oldest <= this.#last && this.#get(this.#oldest) < ms) this.#oldest++;
    return this.#oldest - from;
  }

  drop(count: number): void {
    this.#oldest += count;
  }

  /** null when the entry is dropped, or does not exist yet. */
  at(n: number): number | null {
    return n < this.#oldest || n > this.#last ? null : this.#get(n);
  }

  countAfter(ms: number): number {
    return this.#last - this.#lastUpTo(ms);
  }

  firstAfter(ms: number): number {
    return this.at(this.#lastUpTo(ms) + 1) ?? Infinity;
  }

  /** The number of the last entry up to `ms`, or the one before the oldest entry. */
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
