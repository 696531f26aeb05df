/** Other clients on the same key: whether they exist, and how fast they take permits. Pure: time is passed in. */
import { MINUTE_MS, type Observation } from './quota-observations.ts';

/** How long another client is assumed after it was noticed. */
const REMEMBERED_MS = 10 * MINUTE_MS;
/** The span over which their rate is measured. The estimate follows a rise faster than a fall. */
const DECLINE_OVER_MS = 1_000;
const RISES_BY = 0.5;
const FALLS_BY = 0.2;
const REFILLED = 5;

export class OtherClients {
  #untilMs = -Infinity;
  /** Permits a millisecond that others take beyond the refill, and the answer from which it is measured. */
  #declinePerMs = 0;
  #declineFrom: Observation | null = null;

  /** Whether another client uses the key, or did recently. */
  present(nowMs: number): boolean {
    return this.#untilMs > nowMs;
  }

  /** Another client was noticed. Returns whether it is new. */
  notice(nowMs: number): boolean {
    const isNew = !this.present(nowMs);
    this.#untilMs = nowMs + REMEMBERED_MS;
    return isNew;
  }

  /** Permits that they are likely to take within `ms`. */
  expectedToTake(nowMs: number, ms: number): number {
    return this.present(nowMs) ? Math.ceil(this.#declinePerMs * ms) : 0;
  }

  /** Measures how fast the stated permits fall beyond our own calls. */
  measure(observation: Observation): void {
    const from = this.#declineFrom;
    if (from !== null && observation.callNumber <= from.callNumber) return;
    const ms = from === null ? 0 : observation.sentMs - from.sentMs;
    const taken = from === null ? 0 : from.remaining - observation.remaining - (observation.callNumber - from.callNumber);
    if (from !== null && ms < DECLINE_OVER_MS && taken > -REFILLED) return;
    this.#declineFrom = observation;
    // A clear rise: a window began, or much has refilled at once.
    if (from === null || taken <= -REFILLED) return;
    const perMs = Math.max(0, taken / ms);
    this.#declinePerMs += (perMs - this.#declinePerMs) * (perMs > this.#declinePerMs ? RISES_BY : FALLS_BY);
  }
}
