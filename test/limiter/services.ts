/** Every kind of limiter that a service may have, by the time it is told: in virtual time for the simulator, in real time for the bench. */

export type Kind = 'fixed' | 'sliding' | 'bucket' | 'gcra';

export const MINUTE = 60_000;

export interface Limited {
  /** Takes a permit at `t`; times never go back. */
  take(t: number): boolean;
  remaining(t: number): number;
  /** Milliseconds until the quota is restored. */
  resetMs(t: number): number;
  /** Milliseconds until there is a permit; 0 when there is one. */
  nextMs(t: number): number;
  /** From the second window on: what all clients together could have had, had nobody let anything lapse. Null: what was taken and what overflowed. */
  readonly overflowed: number;
}

export class Fixed implements Limited {
  overflowed = 0;
  #window = -1;
  #used = 0;
  readonly #quota: number;
  readonly #phase: number;
  constructor(quota: number, phase: number) {
    this.#quota = quota;
    this.#phase = phase;
  }
  #roll(t: number): void {
    const window = Math.floor((t + this.#phase) / MINUTE);
    if (window === this.#window) return;
    // Windows that began in the second minute or later, and are over.
    for (let w = Math.max(this.#window, 0); w < window; w++) {
      const left = w === this.#window ? this.#quota - this.#used : this.#quota;
      if (w * MINUTE - this.#phase >= MINUTE) this.overflowed += left;
    }
    this.#window = window;
    this.#used = 0;
  }
  take(t: number): boolean {
    this.#roll(t);
    if (this.#used >= this.#quota) return false;
    this.#used++;
    return true;
  }
  remaining(t: number): number {
    this.#roll(t);
    return this.#quota - this.#used;
  }
  resetMs(t: number): number {
    return MINUTE - ((t + this.#phase) % MINUTE);
  }
  nextMs(t: number): number {
    return this.remaining(t) > 0 ? 0 : this.resetMs(t);
  }
}

export class Sliding implements Limited {
  overflowed = 0;
  readonly #log: number[] = [];
  #head = 0;
  readonly #quota: number;
  readonly #untilNewest: boolean;
  #lastAt = 0;
  constructor(quota: number, untilNewest: boolean) {
    this.#quota = quota;
    this.#untilNewest = untilNewest;
  }
  #expire(t: number): void {
    for (; this.#head < this.#log.length && (this.#log[this.#head] as number) <= t - MINUTE; this.#head++) this.#lapse((this.#log[this.#head] as number) + MINUTE);
    this.#lapse(t);
  }
  /** What nobody uses while it is there lapses at the rate at which it could be used. */
  #lapse(until: number): void {
    const from = Math.max(MINUTE, this.#lastAt);
    if (until > from) this.overflowed += ((this.#quota - (this.#log.length - this.#head)) * (until - from)) / MINUTE;
    this.#lastAt = Math.max(this.#lastAt, until);
  }
  take(t: number): boolean {
    this.#expire(t);
    if (this.#log.length - this.#head >= this.#quota) return false;
    this.#log.push(t);
    return true;
  }
  remaining(t: number): number {
    this.#expire(t);
    return this.#quota - (this.#log.length - this.#head);
  }
  resetMs(t: number): number {
    if (this.#head >= this.#log.length) return 0;
    const entry = this.#untilNewest ? this.#log.length - 1 : this.#head;
    return (this.#log[entry] as number) + MINUTE - t;
  }
  nextMs(t: number): number {
    return this.remaining(t) > 0 ? 0 : (this.#log[this.#head] as number) + MINUTE - t;
  }
}

export class Bucket implements Limited {
  overflowed = 0;
  #tokens: number;
  #at = 0;
  readonly #rate: number;
  readonly #size: number;
  constructor(quota: number, size: number) {
    this.#rate = quota / MINUTE;
    this.#size = size;
    this.#tokens = size;
  }
  #refill(t: number): void {
    const full = this.#tokens + (t - this.#at) * this.#rate;
    if (t > MINUTE) this.overflowed += Math.max(0, full - this.#size) * Math.min(1, (t - MINUTE) / Math.max(1e-9, t - this.#at));
    this.#tokens = Math.min(this.#size, full);
    this.#at = t;
  }
  take(t: number): boolean {
    this.#refill(t);
    if (this.#tokens < 1 - 1e-6) return false;
    this.#tokens -= 1;
    return true;
  }
  remaining(t: number): number {
    this.#refill(t);
    return Math.max(0, Math.floor(this.#tokens + 1e-6));
  }
  resetMs(t: number): number {
    this.#refill(t);
    return (this.#size - this.#tokens) / this.#rate;
  }
  nextMs(t: number): number {
    this.#refill(t);
    return Math.max(0, 1 - 1e-6 - this.#tokens) / this.#rate;
  }
}

/** The same limit, told by one time: that of the next permit were there no burst. */
export class Gcra implements Limited {
  overflowed = 0;
  #tat = 0;
  readonly #interval: number;
  readonly #tolerance: number;
  constructor(quota: number, size: number) {
    this.#interval = MINUTE / quota;
    this.#tolerance = (size - 1) * this.#interval;
  }
  take(t: number): boolean {
    if (this.#tat - this.#tolerance > t + 1e-6) return false;
    if (t > this.#tat && t > MINUTE) this.overflowed += (t - Math.max(this.#tat, MINUTE)) / this.#interval;
    this.#tat = Math.max(t, this.#tat) + this.#interval;
    return true;
  }
  remaining(t: number): number {
    return Math.max(0, Math.floor((this.#tolerance + t - Math.max(t, this.#tat)) / this.#interval + 1 + 1e-6));
  }
  resetMs(t: number): number {
    return Math.max(0, this.#tat - t);
  }
  nextMs(t: number): number {
    return Math.max(0, this.#tat - this.#tolerance - t);
  }
}

/** The most of these times, in order, within any minute. */
export function mostInAMinute(times: readonly number[]): number {
  let most = 0;
  for (let first = 0, last = 0; last < times.length; last++) {
    while ((times[last] as number) - (times[first] as number) >= MINUTE) first++;
    most = Math.max(most, last - first + 1);
  }
  return most;
}
