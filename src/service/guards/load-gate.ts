/**
 * Load shedding: refuses requests that cannot be answered in time, while a refusal is still cheap.
 *
 * There is one thread. Requests that are read within a turn of the event loop queue up, and are served at its end: many in a row are faster
 * than each from reading to answer. Once several turns in a row lasted longer than `lineMs`, the rest of a late turn is refused. So turns
 * stay short, and admitted requests wait little, whatever the load; one slow search is no overload. Requests that wait for something else,
 * such as mail servers, are limited in number.
 */
import type { Limits } from './limits.ts';

/** Requests are shed after this number of late turns in a row. */
const LONG_TURNS = 3;

export type ShedReason = 'in_flight' | 'line';

export class LoadGate {
  readonly #limits: Pick<Limits, 'inFlight' | 'lineMs'>;
  readonly #clock: () => number;
  readonly #served: () => void;
  /** Admitted requests that have not left. */
  readonly #inFlight = new Set<object>();
  #arrived = 0;
  #line: ((refusal: ShedReason | null) => void)[] = [];
  /** Null before the first request of a turn. */
  #turnSinceMs: number | null = null;
  #lastTurnMs = 0;
  #longTurns = 0;
  readonly #endTurn = (): void => {
    const line = this.#line;
    this.#line = [];
    let next = 0;
    try {
      while (next < line.length) line[next++]?.(this.#isLate(this.#clock()) ? 'line' : null);
      if (line.length > 0) this.#served();
    } finally {
      this.#lastTurnMs = this.#clock() - (this.#turnSinceMs ?? 0);
      this.#turnSinceMs = null;
      this.#longTurns = this.#lastTurnMs > this.#limits.lineMs ? this.#longTurns + 1 : 0;
      // Requests that came meanwhile stay in line, and after an exception those behind it.
      this.#line.unshift(...line.slice(next));
      if (this.#line.length > 0) this.#beginTurn(this.#clock());
    }
  };

  /** @param clock monotonic, milliseconds @param served is called when all requests of a turn are served */
  constructor(limits: Pick<Limits, 'inFlight' | 'lineMs'>, clock: () => number, served: () => void = () => undefined) {
    this.#limits = limits;
    this.#clock = clock;
    this.#served = served;
  }

  /** Admits a request, which `leave` must follow, or returns why not. @param nowMs by the clock of the gate */
  enter(request: object, nowMs: number): ShedReason | null {
    this.#beginTurn(nowMs);
    this.#arrived++;
    if (this.#inFlight.size >= this.#limits.inFlight) return 'in_flight';
    if (this.#isLate(nowMs)) return 'line';
    this.#inFlight.add(request);
    return null;
  }

  /**
   * Queues an admitted request that has been read. `serve` is called with null at its turn, or with the reason for which it is shed after
   * all.
   */
  stand(serve: (refusal: ShedReason | null) => void): void {
    this.#beginTurn(this.#clock());
    this.#line.push(serve);
  }

  /** Whether the request was admitted and has not left. */
  has(request: object): boolean {
    return this.#inFlight.has(request);
  }

  /** Makes room for another request. Also for one that goes on as a stream, which leaves early. Safe to call twice. */
  leave(request: object): void {
    this.#inFlight.delete(request);
  }

  /** Requests so far, admitted or not. */
  get arrived(): number {
    return this.#arrived;
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** Duration of the last turn with requests, milliseconds. */
  get lastTurnMs(): number {
    return this.#lastTurnMs;
  }

  #beginTurn(nowMs: number): void {
    if (this.#turnSinceMs !== null) return;
    this.#turnSinceMs = nowMs;
    setImmediate(this.#endTurn);
  }

  #isLate(nowMs: number): boolean {
    return this.#longTurns >= LONG_TURNS && nowMs - (this.#turnSinceMs ?? nowMs) > this.#limits.lineMs;
  }
}
