/**
 * Refuses what cannot be answered in time while refusing is still cheap. There is one thread: requests that have been read within a turn of the event loop stand in line
 * for it, and are served one after the other at the end of the turn. The same code for many of them in a row is quicker than all that is done for one and then all for the next.
 * Once a turn has lasted for longer than they may stand, and some before it too (one slow search is no overload, nor is the first moment after the start), the rest of it is
 * refused: so turns stay short, and who is admitted has waited little, whatever is offered. Requests that wait for something else, such as mail servers, are bounded in number.
 */
import type { Limits } from './limits.ts';

/** So many turns in a row must have been too long. */
const LONG_TURNS = 3;

export type Refusal = 'in_flight' | 'line';

export class LoadGate {
  readonly #limits: Pick<Limits, 'inFlight' | 'lineMs'>;
  readonly #clock: () => number;
  readonly #served: () => void;
  #inFlight = 0;
  #arrived = 0;
  #line: ((refusal: Refusal | null) => void)[] = [];
  /** Null: no request has come in this turn. */
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
      // Who came meanwhile, and after a fault whoever stood behind it.
      this.#line.unshift(...line.slice(next));
      if (this.#line.length > 0) this.#beginTurn(this.#clock());
    }
  };

  /** @param clock monotonic, milliseconds @param served is called whenever all of a turn have been served */
  constructor(limits: Pick<Limits, 'inFlight' | 'lineMs'>, clock: () => number, served: () => void = () => undefined) {
    this.#limits = limits;
    this.#clock = clock;
    this.#served = served;
  }

  /** Admits a request, which `leave` must follow; or says why not. */
  enter(nowMs: number): Refusal | null {
    this.#beginTurn(nowMs);
    this.#arrived++;
    if (this.#inFlight >= this.#limits.inFlight) return 'in_flight';
    if (this.#isLate(nowMs)) return 'line';
    this.#inFlight++;
    return null;
  }

  /** Puts an admitted request that has been read at the end of the line. `serve` is called with null when it is its turn, or with why it is refused after all. */
  stand(serve: (refusal: Refusal | null) => void): void {
    this.#beginTurn(this.#clock());
    this.#line.push(serve);
  }

  leave(): void {
    this.#inFlight--;
  }

  /** How many have come so far, admitted or not. */
  get arrived(): number {
    return this.#arrived;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** How long the last turn with requests took, milliseconds. */
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
