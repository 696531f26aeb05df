/** Every kind of limiter that a service may have, driven by a given time: virtual time for the simulator, real time for the bench. */

export type Kind = 'fixed' | 'sliding' | 'counter' | 'bucket' | 'gcra';

export const MINUTE = 60_000;

export interface Limited {
  /** Takes a permit at `t`; times never go back. */
  take(t: number): boolean;
  remaining(t: number): number;
  /** Milliseconds until the quota is restored. */
  resetMs(t: number): number;
  /** Milliseconds until there is a permit; 0 when there is one. */
  nextMs(t: number): number;
  /** Permits that nobody took in time, from the second window on and up to `t`. */
  lapsed(t: number): number;
  /**
   * Permits at `t` that will not lapse: the content of a bucket. A window has none, because its unused permits lapse.
   */
  held(t: number): number;
}

export class Fixed implements Limited {
  #lapsed = 0;
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
      if (w * MINUTE - this.#phase >= MINUTE) this.#lapsed += left;
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
  lapsed(t: number): number {
    this.#roll(t);
    return this.#lapsed;
  }
  held(): number {
    return 0;
  }
}

export class Sliding implements Limited {
  #lapsed = 0;
  readonly #log: number[] = [];
  #head = 0;
  readonly #quota: number;
  readonly #untilNewest: boolean;
  readonly #periodMs: number;
  #lastAt = 0;
  constructor(quota: number, untilNewest: boolean, periodMs = MINUTE) {
    this.#periodMs = periodMs;
    this.#quota = quota;
    this.#untilNewest = untilNewest;
  }
  #expire(t: number): void {
    for (; this.#head < this.#log.length && (this.#log[this.#head] as number) <= t - this.#periodMs; this.#head++)
      this.#lapseUntil((this.#log[this.#head] as number) + this.#periodMs);
    this.#lapseUntil(t);
  }
  /** Unused permits lapse at the rate at which they could be used. */
  #lapseUntil(until: number): void {
    const from = Math.max(MINUTE, this.#lastAt);
    if (until > from) this.#lapsed += ((this.#quota - (this.#log.length - this.#head)) * (until - from)) / this.#periodMs;
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
    return (this.#log[entry] as number) + this.#periodMs - t;
  }
  nextMs(t: number): number {
    return this.remaining(t) > 0 ? 0 : (this.#log[this.#head] as number) + this.#periodMs - t;
  }
  lapsed(t: number): number {
    this.#expire(t);
    return this.#lapsed;
  }
  held(): number {
    return 0;
  }
}

/** A sliding window that is reckoned from two counters: of the window before, the share that would still be within a minute counts. */
export class Counter implements Limited {
  #lapsed = 0;
  #window = 0;
  #before = 0;
  #used = 0;
  #lastAt = 0;
  readonly #quota: number;
  readonly #phase: number;
  constructor(quota: number, phase: number) {
    this.#quota = quota;
    this.#phase = phase;
  }
  #roll(t: number): void {
    const window = Math.floor((t + this.#phase) / MINUTE);
    if (window === this.#window) return;
    this.#before = window === this.#window + 1 ? this.#used : 0;
    this.#used = 0;
    this.#window = window;
  }
  #spent(t: number): number {
    this.#roll(t);
    return this.#used + this.#before * (1 - ((t + this.#phase) % MINUTE) / MINUTE);
  }
  take(t: number): boolean {
    this.#lapsed = this.lapsed(t);
    this.#lastAt = t;
    if (this.#spent(t) + 1 > this.#quota + 1e-6) return false;
    this.#used++;
    return true;
  }
  remaining(t: number): number {
    return Math.max(0, Math.floor(this.#quota - this.#spent(t) + 1e-6));
  }
  resetMs(t: number): number {
    return MINUTE - ((t + this.#phase) % MINUTE);
  }
  nextMs(t: number): number {
    if (this.remaining(t) > 0) return 0;
    return this.#before === 0 ? this.resetMs(t) : Math.min(this.resetMs(t), ((this.#spent(t) + 1 - this.#quota) * MINUTE) / this.#before);
  }
  /** As in a sliding window: what is free lapses at the rate at which it could be used. */
  lapsed(t: number): number {
    const from = Math.max(MINUTE, this.#lastAt);
    return this.#lapsed + (t > from ? (Math.max(0, this.#quota - this.#spent(t)) * (t - from)) / MINUTE : 0);
  }
  held(): number {
    return 0;
  }
}

export class Bucket implements Limited {
  #lapsed = 0;
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
    if (t > MINUTE) this.#lapsed += Math.max(0, full - this.#size) * Math.min(1, (t - MINUTE) / Math.max(1e-9, t - this.#at));
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
  lapsed(t: number): number {
    this.#refill(t);
    return this.#lapsed;
  }
  held(t: number): number {
    return this.remaining(t);
  }
}

/** The same limit, told by one time: that of the next permit were there no burst. */
export class Gcra implements Limited {
  #lapsed = 0;
  #tat = 0;
  readonly #interval: number;
  readonly #tolerance: number;
  constructor(quota: number, size: number) {
    this.#interval = MINUTE / quota;
    this.#tolerance = (size - 1) * this.#interval;
  }
  take(t: number): boolean {
    if (this.#tat - this.#tolerance > t + 1e-6) return false;
    this.#lapsed = this.lapsed(t);
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
  lapsed(t: number): number {
    return this.#lapsed + Math.max(0, t - Math.max(this.#tat, MINUTE)) / this.#interval;
  }
  held(t: number): number {
    return this.remaining(t);
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
