/** The calls that are under way, and one coarse clock over all of them. */
import type { Exchange, ExchangeOwner } from './exchange.ts';

/** How late the deadline may be noticed, at most and at least. */
const MAX_TICK_MS = 1000;
const MIN_TICK_MS = 10;

/** Bytes of answers that are held at once: many more than a service sends, and few enough that a hostile one does no harm. */
const MAX_HELD_BYTES = 64 * 1024 * 1024;

interface Deadlines {
  /** From sending to the last byte. */
  readonly totalMs: number;
  /** From being handed over to being sent: waiting for a socket. */
  readonly unsentMs: number;
}

export class InFlight implements ExchangeOwner {
  readonly #exchanges = new Set<Exchange>();
  readonly #deadlines: Deadlines;
  readonly #tickMs: number;
  #timer: NodeJS.Timeout | null = null;
  #waiting: (() => void)[] = [];
  #heldBytes = 0;

  constructor(deadlines: Deadlines) {
    this.#deadlines = deadlines;
    this.#tickMs = Math.max(MIN_TICK_MS, Math.min(MAX_TICK_MS, deadlines.totalMs / 8));
  }

  add(exchange: Exchange): void {
    this.#exchanges.add(exchange);
    if (this.#timer !== null) return;
    // One timer for all: one per call costs more than reading its answer. Sockets keep the process alive, not this.
    this.#timer = setInterval(() => this.#sweep(), this.#tickMs);
    this.#timer.unref();
  }

  mayHold(bytes: number): boolean {
    if (this.#heldBytes + bytes > MAX_HELD_BYTES) return false;
    this.#heldBytes += bytes;
    return true;
  }

  finished(exchange: Exchange): void {
    this.#exchanges.delete(exchange);
    this.#heldBytes -= exchange.size;
    if (this.#exchanges.size > 0 || this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  /** Resolves when nothing is under way. */
  whenEmpty(): Promise<void> {
    if (this.#exchanges.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  abortAll(detail: string): void {
    for (const exchange of this.#exchanges) exchange.fail({ code: 'aborted', detail });
  }

  /** Only a call that made steady but endless progress gets here; the usual timeouts are undici's. */
  #sweep(): void {
    if (this.#exchanges.size === 0) {
      if (this.#timer !== null) clearInterval(this.#timer);
      this.#timer = null;
      return;
    }
    const now = performance.now();
    for (const exchange of this.#exchanges) {
      const limit = exchange.sent ? this.#deadlines.totalMs : this.#deadlines.unsentMs;
      if (now - exchange.startedAt <= limit) continue;
      exchange.fail({
        code: 'timeout',
        detail: exchange.sent ? `the answer was not complete within ${limit} ms` : `no free connection within ${limit} ms`,
      });
    }
  }
}
