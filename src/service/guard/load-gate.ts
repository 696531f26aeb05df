/**
 * Refuses what cannot be answered in time while refusing is still cheap. There is one thread: requests stand in line for it within a turn of the event loop. Once a
 * turn has lasted for longer than they may stand, and some before it too (one slow search is no overload, nor is the first moment after the start), the rest of it is
 * refused: so turns stay short, and who is admitted has waited little, whatever is offered. Requests that wait for something else, such as mail servers, are bounded in number.
 */
import type { Limits } from './limits.ts';

/** So many turns in a row must have been too long. */
const LONG_TURNS = 3;

export type Refusal = 'in_flight' | 'line';

export class LoadGate {
  readonly #limits: Pick<Limits, 'inFlight' | 'lineMs'>;
  readonly #clock: () => number;
  #inFlight = 0;
  /** Null: no request has come in this turn. */
  #turnSinceMs: number | null = null;
  #lastTurnMs = 0;
  #longTurns = 0;
  readonly #endTurn = (): void => {
    this.#lastTurnMs = this.#clock() - (this.#turnSinceMs ?? 0);
    this.#turnSinceMs = null;
    this.#longTurns = this.#lastTurnMs > this.#limits.lineMs ? this.#longTurns + 1 : 0;
  };

  /** @param clock monotonic, milliseconds */
  constructor(limits: Pick<Limits, 'inFlight' | 'lineMs'>, clock: () => number) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Admits a request, which `leave` must follow; or says why not. */
  enter(nowMs: number): Refusal | null {
    if (this.#turnSinceMs === null) {
      this.#turnSinceMs = nowMs;
      setImmediate(this.#endTurn);
    }
    if (this.#inFlight >= this.#limits.inFlight) return 'in_flight';
    if (nowMs - this.#turnSinceMs > this.#limits.lineMs && this.#longTurns >= LONG_TURNS) return 'line';
    this.#inFlight++;
    return null;
  }

  leave(): void {
    this.#inFlight--;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** How long the last turn with requests took, milliseconds. */
  get lastTurnMs(): number {
    return this.#lastTurnMs;
  }
}
