/** The answers that the service may have decided last, with the quota that each stated. Pure: time is passed in. */
import type { CallLog } from '../call-log.ts';
import type { Latencies } from './latencies.ts';

export const MINUTE_MS = 60_000;

/** One answer that states how many permits were left. */
export interface Observation {
  readonly callNumber: number;
  readonly sentMs: number;
  readonly answeredMs: number;
  readonly remaining: number;
  readonly throttled: boolean;
  /** The stated reset, at the earliest and at the latest. */
  readonly notBeforeMs: number;
  readonly untilMs: number;
}

export class QuotaObservations {
  readonly #log: CallLog;
  readonly #latencies: Latencies;
  /** The answered call that was sent last, then those that may have been decided after it. */
  #all: readonly Observation[] = [];
  /** When calls were answered without headers. Each counts as spent until a later call states the quota. */
  #lostAtMs: readonly number[] = [];

  constructor(log: CallLog, latencies: Latencies) {
    this.#log = log;
    this.#latencies = latencies;
  }

  /** The latest decision of the service is among these. */
  get all(): readonly Observation[] {
    return this.#all;
  }

  /** The answered call that was sent last; undefined without any observation. */
  get latest(): Observation | undefined {
    return this.#all[0];
  }

  /** Calls that were answered without stating the quota. */
  get lostCalls(): number {
    return this.#lostAtMs.length;
  }

  /** The end of the last stated reset. */
  get untilMs(): number {
    let last = -Infinity;
    for (const observation of this.#all) last = Math.max(last, observation.untilMs);
    return last;
  }

  /**
   * Permits left by the observations, minus the calls in flight; null when the stated reset is over.
   * @param others whether another client may have taken permits between two answers; then the lowest statement counts
   */
  knownPermits(nowMs: number, others: boolean): number | null {
    const latest = this.#all[0];
    if (latest === undefined || latest.untilMs <= nowMs) return null;
    let least = Infinity;
    let most = -Infinity;
    for (const observation of this.#all) {
      // An observation of an earlier window says nothing about this one.
      const ofAnother = observation.untilMs <= nowMs && latest.notBeforeMs - observation.untilMs > MINUTE_MS / 2;
      if (!ofAnother) least = Math.min(least, observation.remaining);
      if (!others) most = Math.max(most, observation.remaining - this.callsAfter(observation));
    }
    return Math.max(least - this.#log.inFlight - this.#lostAtMs.length, most);
  }

  /**
   * When the wait of the last refusal is over, if a call sent at the same time was not refused; Infinity otherwise.
   * Without this a refusal would hold until the reset that the other observations state, a minute or more.
   */
  get refusalUntilMs(): number {
    if (this.#all.length < 2 || this.#all[0]?.throttled !== false) return Infinity;
    let last = -Infinity;
    for (const { throttled, untilMs } of this.#all) if (throttled) last = Math.max(last, untilMs);
    return last === -Infinity ? Infinity : last;
  }

  /** Calls that may have been decided after an observation. */
  callsAfter({ sentMs, answeredMs }: Observation): number {
    const fromMs = sentMs + this.#latencies.leastMs;
    return this.#log.unansweredAt(fromMs) - (answeredMs > fromMs ? 1 : 0);
  }

  lose(answeredMs: number): void {
    if (this.#all.length > 0) this.#lostAtMs = [...this.#lostAtMs, answeredMs];
  }

  forget(): void {
    this.#all = [];
    this.#lostAtMs = [];
  }

  add(observation: Observation): void {
    const latest = this.#all[0];
    const { leastMs } = this.#latencies;
    if (latest !== undefined && observation.callNumber < latest.callNumber) {
      // It may have been decided after the latest, because it was in flight when that was sent.
      if (observation.answeredMs > latest.sentMs + leastMs) {
        this.#all = [latest, ...this.#all.filter((other) => other !== latest && !isImpliedBy(other, observation)), observation];
      }
      return;
    }
    this.#all = [
      observation,
      ...this.#all.filter((other) => other.answeredMs > observation.sentMs + leastMs && !isImpliedBy(other, observation)),
    ];
    this.#lostAtMs = this.#lostAtMs.filter((answeredMs) => answeredMs > observation.sentMs);
  }
}

/** Whether one observation implies everything that the other says, and for longer. */
function isImpliedBy(other: Observation, by: Observation): boolean {
  return by.remaining <= other.remaining && by.sentMs >= other.sentMs && by.answeredMs >= other.answeredMs && by.untilMs >= other.untilMs;
}
