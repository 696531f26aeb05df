/**
 * Decides the size of requests for several lookups, and how many are in flight at once. Pure: latencies are passed in.
 *
 * ## unknown
 * No request was answered yet, so the speed of the service is a guess. One request is in flight. It is full only when as many lookups
 * again wait behind it; a shorter input starts with a part. A first timeout then wastes at most half of the input.
 *
 * ## unproven
 * No request of this size was answered. One request is in flight. A request that is too large leads here from any state, at half the size.
 * Some answers in a row within half of the time limit lead here from proven, at twice the size.
 *
 * ## proven
 * Entered when a request of this size was answered. Each answer may allow one more request in flight.
 */

/** The part of the time limit that a larger request, or one more at once, may be expected to take. */
const ROOM = 0.75;
/** An answer within this part of the limit is quick. */
const QUICK = 1 / 16;
/** Answers in a row before a larger size is tried; twice as many after each time that this failed. */
const GROW_AFTER = 8;
/** Answers in a row before one more request is allowed, where it may slow the others down too much. */
const WIDEN_AFTER = 2;
/** The first request of a short input has this part of a full request. */
const FIRST_PART = 4;

/** The size with which a resume begins. */
export interface KeptSize {
  /** Lookups in a request. */
  readonly size: number;
  /** The most requests in flight; null when no limit is known. */
  readonly most: number | null;
}

/** `known`: the service has answered for the first time, and the size stays. */
export type SizeChange = 'size' | 'known' | null;

interface RequestSizeOptions {
  /** Lookups in a full request. */
  readonly largest: number;
  /** Longest wait for an answer, milliseconds. */
  readonly limitMs: number;
  /** The size of the run before; null without one. */
  readonly from: KeptSize | null;
  /** Begins proven, with any number of requests in flight: a full request is known to fit. */
  readonly isProven?: boolean;
}

/** The number of verify requests for these lookups, at a service that answers quickly. */
export function requestsFor(lookups: number, { largest, from }: Pick<RequestSizeOptions, 'largest' | 'from'>): number {
  if (from !== null || lookups <= largest / 2 || lookups > largest) return Math.ceil(lookups / (from?.size ?? largest));
  const first = Math.ceil(largest / FIRST_PART);
  return 1 + Math.ceil((lookups - first) / (2 * first));
}

export class RequestSize {
  readonly #largest: number;
  readonly #limitMs: number;
  #size: number;
  #isKnown: boolean;
  /** Whether the size comes from an answer of the service. */
  #isLearnt: boolean;
  /** Requests that may be in flight now, and at most. */
  #window = 1;
  #most: number;
  /** The smallest size that was too large. */
  #failedAt = Infinity;
  #growAfter = GROW_AFTER;
  /** Answers in a row that count for the size, and for the window; and the slowest of the former, milliseconds. */
  #streak = 0;
  #sinceWiden = 0;
  #slowestMs = 0;

  constructor({ largest, limitMs, from, isProven = false }: RequestSizeOptions) {
    this.#largest = largest;
    this.#limitMs = limitMs;
    this.#size = Math.min(largest, from?.size ?? largest);
    this.#most = from?.most ?? Infinity;
    this.#isKnown = from !== null || isProven;
    this.#isLearnt = !isProven;
    if (from === null && isProven) this.#window = Infinity;
    // The size is smaller because the next one failed.
    if (this.#size < largest) this.#failedAt = this.#stepWithin(2 * this.#size + 1);
  }

  /** Lookups in a request now. */
  get size(): number {
    return this.#size;
  }

  /** null before the first answer, or as long as nothing was learnt. */
  get kept(): KeptSize | null {
    if (!(this.#isKnown && this.#isLearnt) && this.#size === this.#largest) return null;
    return { size: this.#size, most: this.#most === Infinity ? null : this.#most };
  }

  /** Whether the size is small because the input is short, not because a request was too large. */
  get isGuess(): boolean {
    return this.#size < this.#largest && this.#failedAt === Infinity;
  }

  /** Whether a request of this size was too large before. */
  hasFailed(lookups: number): boolean {
    return lookups >= this.#failedAt;
  }

  /** Whether another request may go while `inFlight` are not answered. */
  mayGo(inFlight: number): boolean {
    return inFlight < this.#window;
  }

  /** The number of waiting lookups that go next; 0 for none yet. @param isAll no other address joins them */
  next(waiting: number, isAll: boolean): number {
    const full = this.#size;
    if (this.#isKnown || full < this.#largest) return waiting >= full ? full : isAll ? waiting : 0;
    if (waiting >= 2 * full) return full;
    if (!isAll) return 0;
    return waiting > full ? Math.ceil(waiting / 2) : waiting > full / 2 ? Math.ceil(full / FIRST_PART) : waiting;
  }

  /** A request of `lookups` was answered. */
  answered(lookups: number, latencyMs: number): SizeChange {
    if (!this.#isKnown) return this.#first(lookups, latencyMs);
    const fullMs = (latencyMs * this.#size) / Math.min(lookups, this.#size);
    // A partial request says nothing about a full one, unless it was quick and no full one has failed.
    if (lookups < this.#size && (fullMs > QUICK * this.#limitMs || this.hasFailed(this.#size))) return null;
    if (lookups >= this.#failedAt) this.#failedAt = lookups >= this.#largest ? Infinity : this.#stepWithin(2 * lookups + 1);
    this.#streak++;
    this.#sinceWiden++;
    this.#slowestMs = Math.max(this.#slowestMs, fullMs);
    this.#widen(fullMs);
    // Without a failure, a size below a full one comes from a short input.
    if (this.#streak < (this.isGuess ? 1 : this.#growAfter)) return null;
    const hasRoom = 2 * this.#slowestMs <= ROOM * this.#limitMs;
    this.#streak = 0;
    this.#slowestMs = 0;
    return hasRoom ? this.#grow() : null;
  }

  /**
   * A request of `lookups` was too large for the service.
   * @param inFlight requests under way, itself among them.
   * @returns whether the size has changed
   */
  tooLarge(lookups: number, inFlight: number): boolean {
    // It left before the size changed.
    if (lookups > this.#size) return false;
    if (this.hasFailed(lookups)) this.#growAfter *= 2;
    this.#failedAt = Math.min(this.#failedAt, lookups);
    // With half the size and as many requests, half as many lookups are in flight.
    if (inFlight > 1) this.#most = Math.min(this.#most, inFlight);
    this.#set(this.#stepWithin(Math.ceil(lookups / 2)));
    return true;
  }

  #first(lookups: number, latencyMs: number): SizeChange {
    this.#isKnown = true;
    if (lookups >= this.#size) return this.answered(lookups, latencyMs) ?? 'known';
    const most = 2 * latencyMs <= ROOM * this.#limitMs ? 2 * lookups : lookups;
    this.#set(this.#stepWithin(Math.max(1, Math.min(most, this.#failedAt - 1))));
    return 'size';
  }

  /** Allows one more request: at once where it cannot take too long even if it slows the others down, else after some answers. */
  #widen(latencyMs: number): void {
    if (this.#window === Infinity) return;
    const wider = this.#window + 1;
    const hasRoom = (latencyMs * wider) / this.#window <= ROOM * this.#limitMs;
    if (wider > this.#most || !(hasRoom || this.#sinceWiden >= WIDEN_AFTER)) return;
    this.#window = wider;
    this.#sinceWiden = 0;
  }

  #grow(): SizeChange {
    if (this.#size < this.#largest) {
      this.#set(this.#stepWithin(2 * this.#size + 1));
      return 'size';
    }
    if (this.#most < Infinity) this.#most *= 2;
    return null;
  }

  #set(size: number): void {
    this.#isLearnt = true;
    this.#size = size;
    this.#window = 1;
    this.#streak = 0;
    this.#sinceWiden = 0;
    this.#slowestMs = 0;
  }

  /** Sizes are a full request halved repeatedly: the largest of them up to `most`. */
  #stepWithin(most: number): number {
    let size = this.#largest;
    while (size > most && size > 1) size = Math.ceil(size / 2);
    return size;
  }
}
