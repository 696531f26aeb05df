/** Others on the same key: whether there are any, and how fast they take permits. Pure: time is passed in. */
import { MINUTE_MS, type Told } from './told-answers.ts';

/** How long a neighbour that was noticed is reckoned with. */
const OTHERS_FOR_MS = 10 * MINUTE_MS;
/** How fast others take permits is measured over so long, and follows what is measured: up sooner than down. */
const DECLINE_OVER_MS = 1_000;
const RISES_BY = 0.5;
const FALLS_BY = 0.2;
const REFILLED = 5;

export class Neighbours {
  #untilMs = -Infinity;
  /** Permits a millisecond that others take beyond what comes back, of late; and the answer since which it is measured. */
  #declinePerMs = 0;
  #declineFrom: Told | null = null;

  /** Somebody else is, or was a while ago, on the key. */
  present(nowMs: number): boolean {
    return this.#untilMs > nowMs;
  }

  /** They have shown themselves. True: nobody knew of them. */
  noticed(nowMs: number): boolean {
    const isNew = !this.present(nowMs);
    this.#untilMs = nowMs + OTHERS_FOR_MS;
    return isNew;
  }

  /** So many permits they are likely to take within `ms`. */
  taking(nowMs: number, ms: number): number {
    return this.present(nowMs) ? Math.ceil(this.#declinePerMs * ms) : 0;
  }

  /** Measures how what remains goes down beyond our own calls. */
  measure(told: Told): void {
    const from = this.#declineFrom;
    if (from !== null && told.ticket <= from.ticket) return;
    const ms = from === null ? 0 : told.sentMs - from.sentMs;
    const taken = from === null ? 0 : from.remaining - told.remaining - (told.ticket - from.ticket);
    if (from !== null && ms < DECLINE_OVER_MS && taken > -REFILLED) return;
    this.#declineFrom = told;
    // More than before by more than a trifle: a window began, or much has come back at once.
    if (from === null || taken <= -REFILLED) return;
    const perMs = Math.max(0, taken / ms);
    this.#declinePerMs += (perMs - this.#declinePerMs) * (perMs > this.#declinePerMs ? RISES_BY : FALLS_BY);
  }
}
