import type { Wait, Waits } from '../../util/waits.ts';
import { addWait, NO_WAITS, SILENT_AFTER_MS, type WaitTotals } from '../../checkpoint/wait-log.ts';
import { duration, formatUntil } from '../../util/display.ts';

/** How often the watch looks: the start of a wait is known to within this. */
export const LOOK_EVERY_MS = 500;
/** The log names the same wait at most once in this time. */
const NAME_AGAIN_AFTER_MS = 60_000;

interface SilenceOptions {
  readonly waits: Pick<Waits, 'current'>;
  readonly reporter: { detail(event: string, text: string): void };
  /** Monotonic milliseconds, and wall clock. */
  readonly now: () => number;
  readonly wallNow: () => number;
}

/** A wait that has lasted for `SILENT_AFTER_MS`. */
interface Silence {
  readonly wait: Wait;
  /** Monotonic milliseconds. */
  readonly sinceMs: number;
}

/**
 * Records what a run waits for. When no request was sent for `SILENT_AFTER_MS`, the log names the wait, and the report lists it.
 *
 * ## sending
 * Left to `silent` when a look finds that no request was sent for `SILENT_AFTER_MS`. The wait began with the last request.
 *
 * ## silent
 * Left to `sending` when a look finds that a request was sent. When another reason has lasted for `SILENT_AFTER_MS`, its wait begins, and
 * the wait before ends where this one began.
 */
export class SilenceWatch {
  readonly #options: SilenceOptions;
  readonly #timer: NodeJS.Timeout;
  /** When the last request was sent, or could be sent from. Monotonic milliseconds. */
  #sentMs: () => number;
  #silence: (Silence & { readonly isLogged: boolean }) | null = null;
  /** A newer reason than that of the silence, and its start; null when the reason has not changed. */
  #other: { readonly reason: Wait['reason']; readonly sinceMs: number } | null = null;
  #lastLogged = { key: '', atMs: -Infinity };
  #over: WaitTotals = NO_WAITS;
  /** The end of the last wait. */
  #endedMs = -Infinity;

  constructor(options: SilenceOptions) {
    this.#options = options;
    const begunMs = options.now();
    this.#sentMs = () => begunMs;
    this.#timer = setInterval(() => this.look(), LOOK_EVERY_MS);
    this.#timer.unref();
  }

  /** From now on requests are sent. @param sentMs when the last one was sent, monotonic milliseconds */
  follow(sentMs: () => number): void {
    this.look();
    this.#sentMs = sentMs;
  }

  /** No more requests are sent: from now on only waits with a name count. */
  unfollow(): void {
    this.look();
    const lastMs = Math.max(this.#sentMs(), this.#options.now());
    this.#sentMs = () => lastMs;
  }

  /** The wait that has lasted for `SILENT_AFTER_MS`; null when there is no such wait. */
  get silence(): Silence | null {
    this.look();
    return this.#silence;
  }

  /** How long nothing has been sent, milliseconds; 0 before `SILENT_AFTER_MS`. */
  get silentMs(): number {
    const silence = this.silence;
    return silence === null ? 0 : this.#options.now() - silence.sinceMs;
  }

  /** How long the wait still lasts, milliseconds; null when nothing waits, or the end is unknown. */
  get leftMs(): number | null {
    const untilMs = this.silence?.wait.untilMs ?? null;
    return untilMs === null ? null : Math.max(0, untilMs - this.#options.now());
  }

  /** The waits so far, with the current one. */
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
    const isLogged = key !== this.#lastLogged.key || now - this.#lastLogged.atMs >= NAME_AGAIN_AFTER_MS;
    this.#silence = { wait, sinceMs, isLogged };
    if (!isLogged) return;
    this.#lastLogged = { key, atMs: now };
    this.#options.reporter.detail(
      'waiting',
      `nothing is sent: waiting for ${wait.what}` +
        `${wait.untilMs === null ? '' : `, ${formatUntil(wait.untilMs - now, this.#options.wallNow())}`} (${wait.reason})`,
    );
  }

  #end(now: number): void {
    const silence = this.#silence;
    this.#other = null;
    if (silence === null) return;
    this.#silence = null;
    this.#endedMs = now;
    this.#over = this.#with(silence, now);
    if (silence.isLogged)
      this.#options.reporter.detail(
        'waited',
        `waited ${duration(now - silence.sinceMs)} for ${silence.wait.what} (${silence.wait.reason})`,
      );
  }

  #with({ wait, sinceMs }: Silence, now: number): WaitTotals {
    const ms = Math.round(now - sinceMs);
    if (ms <= 0) return this.#over;
    const { now: monotonicNow, wallNow } = this.#options;
    return addWait(this.#over, {
      at: new Date(wallNow() - (monotonicNow() - sinceMs)).toISOString(),
      ms,
      reason: wait.reason,
      what: wait.what,
    });
  }
}
