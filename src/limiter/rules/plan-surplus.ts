/** Requests that a service offers beyond the plan's rate, because its quota is full at the start. Pure: time is passed in. */
import { MINUTE_MS, type Observation } from '../inference/quota-observations.ts';

export class PlanSurplus {
  readonly #rpm: number | null;
  /** The first answer that stated the quota. */
  #first: Observation | null = null;

  /** @param rpm requests a minute of the plan; null: unlimited */
  constructor(rpm: number | null) {
    this.#rpm = rpm;
  }

  observe(observation: Observation): void {
    this.#first ??= observation;
  }

  /** Requests up to now: the content of a full bucket, or the permits of the first window. 0 when nothing was observed. */
  requests(nowMs: number, isBucket: boolean): number {
    const first = this.#first;
    if (first === null || this.#rpm === null) return 0;
    const initial = first.remaining + 1;
    if (isBucket) return initial;
    const atPlanRate = (this.#rpm * Math.max(0, nowMs - first.answeredMs)) / MINUTE_MS;
    const sinceResetMs = nowMs - first.untilMs;
    const windows = sinceResetMs < 0 ? 0 : 1 + Math.floor(sinceResetMs / MINUTE_MS);
    return Math.max(0, initial + windows * this.#rpm - atPlanRate);
  }
}
