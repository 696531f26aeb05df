/** The calls that are under way, and one coarse clock over all of them. */
import type { Exchange, ExchangeOwner } from './exchange.ts';

/** How late a limit may be noticed, at most and at least; else an eighth of it. */
const MAX_TICK_MS = 1000;
const MIN_TICK_MS = 10;
const TICKS_A_LIMIT = 8;

/** Bytes of answers that are held at once: many more than a service sends, and few enough that a hostile one does no harm. */
const MAX_HELD_BYTES = 64 * 1024 * 1024;

type Timer = ReturnType<typeof setTimeout>;

export class InFlight implements ExchangeOwner {
  readonly #exchanges = new Set<Exchange>();
  #tickMs = MAX_TICK_MS;
  #timer: Timer | null = null;
  #dueAt = 0;
  #wasLate = false;
  #waiting: (() => void)[] = [];
  #heldBytes = 0;

  /** @param leastMs the shortest time limit of this call */
  add(exchange: Exchange, leastMs: number): void {
    this.#exchanges.add(exchange);
    const tickMs = Math.max(MIN_TICK_MS, Math.min(MAX_TICK_MS, leastMs / TICKS_A_LIMIT));
    if (this.#timer !== null && tickMs >= this.#tickMs) return;
    // One timer for all: one per call costs more than reading its answer. Sockets keep the process alive, not this.
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#tickMs = tickMs;
    this.#arm();
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

  #arm(): void {
    this.#dueAt = performance.now() + this.#tickMs;
    this.#timer = setTimeout(() => this.#sweep(), this.#tickMs);
    // Browsers have numbers here.
    if (typeof this.#timer === 'object') this.#timer.unref();
  }

  #sweep(): void {
    this.#timer = null;
    if (this.#exchanges.size === 0) {
      this.#tickMs = MAX_TICK_MS;
      return;
    }
    const now = performance.now();
    // After a busy or suspended process, answers that have arrived are read first.
    this.#wasLate = !this.#wasLate && now - this.#dueAt > this.#tickMs;
    if (!this.#wasLate) for (const exchange of this.#exchanges) exchange.failIfLate(now);
    this.#arm();
  }
}
