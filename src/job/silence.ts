/**
 * Tells what a run waits for. When no request was sent for `SILENT_AFTER_MS`, the log names the wait, and the report gets it.
 *
 * speaking -> silent: a look finds that nothing was sent for that long. The wait began with the last request.
 * silent -> silent, another wait: another reason has lasted for that long too. The wait before ends where it began.
 * silent -> speaking: a look finds that a request was sent.
 */
import type { Wait, Waits } from '../waits.ts';
import type { Reporter } from './reporter.ts';
import { addWait, NO_WAITS, SILENT_AFTER_MS, type WaitTotals } from './wait-log.ts';
import { duration, untilWords } from './words.ts';

/** How often it looks: a wait is known to within this. */
export const LOOK_EVERY_MS = 500;
/** The same wait is named in the log once within this. */
const NAME_AGAIN_AFTER_MS = 60_000;

export interface SilenceOptions {
  readonly waits: Pick<Waits, 'current'>;
  readonly reporter: Pick<Reporter, 'detail'>;
  /** Monotonic milliseconds, and wall clock. */
  readonly now: () => number;
  readonly wallNow: () => number;
}

/** A wait that has lasted for `SILENT_AFTER_MS`. */
export interface Silence {
  readonly wait: Wait;
  /** Monotonic milliseconds. */
  readonly sinceMs: number;
}

export class SilenceWatch {
  readonly #options: SilenceOptions;
  readonly #timer: NodeJS.Timeout;
  /** When the last request was sent, or since when one could be. Monotonic milliseconds. */
  #sentMs: () => number;
  #silence: (Silence & { readonly told: boolean }) | null = null;
  /** A reason that differs from that of the silence, and since when; null when the reason has not changed. */
  #other: { readonly reason: Wait['reason']; readonly sinceMs: number } | null = null;
  #lastTold = { key: '', atMs: -Infinity };
  #over: WaitTotals = NO_WAITS;
  /** Up to here the time is counted. */
  #endedMs = -Infinity;

  constructor(options: SilenceOptions) {
    this.#options = options;
    const begunMs = options.now();
    this.#sentMs = () => begunMs;
    this.#timer = setInterval(() => this.look(), LOOK_EVERY_MS);
    this.#timer.unref();
  }

  /** From now on requests are sent. @param sentMs when the last one was, monotonic milliseconds */
  follow(sentMs: () => number): void {
    this.look();
    this.#sentMs = sentMs;
  }

  /** No more requests are sent: from now on only what waits by name is told. */
  unfollow(): void {
    this.look();
    const lastMs = Math.max(this.#sentMs(), this.#options.now());
    this.#sentMs = () => lastMs;
  }

  /** What is waited for, when that has lasted for so long; null: it has not. */
  get silence(): Silence | null {
    this.look();
    return this.#silence;
  }

  /** How long nothing has been sent, milliseconds; 0 while that is no longer than usual. */
  get silentMs(): number {
    const silence = this.silence;
    return silence === null ? 0 : this.#options.now() - silence.sinceMs;
  }

  /** How long the wait still lasts, milliseconds; null: there is none, or nobody knows. */
  get leftMs(): number | null {
    const untilMs = this.silence?.wait.untilMs ?? null;
    return untilMs === null ? null : Math.max(0, untilMs - this.#options.now());
  }

  /** The waits so far, that of now included. */
  get totals(): WaitTotals {
    this.look();
    return this.#silence === null ? this.#over : this.#with(this.#silence, this.#options.now());
  }

  look(): void {
    const now = this.#options.now();
    const sentMs = this.#sentMs();
    if (this.#silence !== null && sentMs > this.#silence.sinceMs) this.#end(Math.min(sentMs, now));
    const wait = this.#options.waits.current;
    if (this.#silence !== null) {
      if (wait === null) this.#end(now);
      else if (wait.reason === this.#silence.wait.reason) {
        this.#silence = { ...this.#silence, wait };
        this.#other = null;
      } else if (this.#other?.reason !== wait.reason) this.#other = { reason: wait.reason, sinceMs: now };
      else if (now - this.#other.sinceMs >= SILENT_AFTER_MS) {
        const { sinceMs } = this.#other;
        this.#end(sinceMs);
        this.#begin(wait, sinceMs, now);
      }
      return;
    }
    if (wait !== null && now - sentMs >= SILENT_AFTER_MS) this.#begin(wait, Math.max(sentMs, this.#endedMs), now);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#end(this.#options.now());
  }

  #begin(wait: Wait, sinceMs: number, now: number): void {
    const key = wait.reason;
    const told = key !== this.#lastTold.key || now - this.#lastTold.atMs >= NAME_AGAIN_AFTER_MS;
    this.#silence = { wait, sinceMs, told };
    if (!told) return;
    this.#lastTold = { key, atMs: now };
    this.#options.reporter.detail('waiting', `nothing is sent: waiting for ${wait.what}${wait.untilMs === null ? '' : `, ${untilWords(wait.untilMs - now, this.#options.wallNow())}`} (${wait.reason})`);
  }

  #end(now: number): void {
    const silence = this.#silence;
    this.#other = null;
    if (silence === null) return;
    this.#silence = null;
    this.#endedMs = now;
    this.#over = this.#with(silence, now);
    if (silence.told) this.#options.reporter.detail('waited', `waited ${duration(now - silence.sinceMs)} for ${silence.wait.what} (${silence.wait.reason})`);
  }

  #with({ wait, sinceMs }: Silence, now: number): WaitTotals {
    const ms = Math.round(now - sinceMs);
    if (ms <= 0) return this.#over;
    const { now: monotonicNow, wallNow } = this.#options;
    return addWait(this.#over, { at: new Date(wallNow() - (monotonicNow() - sinceMs)).toISOString(), ms, reason: wait.reason, what: wait.what });
  }
}
