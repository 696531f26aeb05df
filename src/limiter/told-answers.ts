/** What the answers that may have been decided last have told. Pure: time is passed in. */
import type { CallLog } from './call-log.ts';
import type { Latencies } from './latencies.ts';

export const MINUTE_MS = 60_000;

/** One answer that says how many permits were left. */
export interface Told {
  readonly ticket: number;
  readonly sentMs: number;
  readonly answeredMs: number;
  readonly remaining: number;
  readonly throttled: boolean;
  /** When the stated reset is, at the earliest and at the latest. */
  readonly notBeforeMs: number;
  readonly untilMs: number;
}

export class ToldAnswers {
  readonly #log: CallLog;
  readonly #latencies: Latencies;
  /** The answered call that was sent last, and after it those that may have been decided later. */
  #told: readonly Told[] = [];
  /** When calls were answered without headers: these count as spent until a later call is answered with some. */
  #lost: readonly number[] = [];

  constructor(log: CallLog, latencies: Latencies) {
    this.#log = log;
    this.#latencies = latencies;
  }

  /** One of these was decided last. */
  get all(): readonly Told[] {
    return this.#told;
  }

  /** The answered call that was sent last; undefined: none has told anything. */
  get latest(): Told | undefined {
    return this.#told[0];
  }

  /** Calls of which nothing is known. */
  get lost(): number {
    return this.#lost.length;
  }

  /** When the last of the stated resets is over. */
  get untilMs(): number {
    let last = -Infinity;
    for (const told of this.#told) last = Math.max(last, told.untilMs);
    return last;
  }

  /**
   * Permits left by what was said, less what is in flight; null: the stated reset is over.
   * @param others somebody else may have taken some between two answers: then the one that says least counts
   */
  known(nowMs: number, others: boolean): number | null {
    const latest = this.#told[0];
    if (latest === undefined || latest.untilMs <= nowMs) return null;
    let least = Infinity;
    let most = -Infinity;
    for (const told of this.#told) {
      // Of a window that was over before the latest's began: what was left of that says nothing of this one.
      const ofAnother = told.untilMs <= nowMs && latest.notBeforeMs - told.untilMs > MINUTE_MS / 2;
      if (!ofAnother) least = Math.min(least, told.remaining);
      if (!others) most = Math.max(most, told.remaining - this.after(told));
    }
    return Math.max(least - this.#log.inFlight - this.#lost.length, most);
  }

  /**
   * When the wait of the last refusal among these is over, where a call sent with it was not refused; Infinity: there is none. What a
   * refusal said is of then: without an answer to a later call it would hold until the reset that the others state, a minute or more.
   */
  get refusalUntilMs(): number {
    if (this.#told.length < 2 || this.#told[0]?.throttled !== false) return Infinity;
    let last = -Infinity;
    for (const { throttled, untilMs } of this.#told) if (throttled) last = Math.max(last, untilMs);
    return last === -Infinity ? Infinity : last;
  }

  /** Calls that may have been decided after one. */
  after({ sentMs, answeredMs }: Told): number {
    const fromMs = sentMs + this.#latencies.leastMs;
    return this.#log.unansweredAt(fromMs) - (answeredMs > fromMs ? 1 : 0);
  }

  lose(answeredMs: number): void {
    if (this.#told.length > 0) this.#lost = [...this.#lost, answeredMs];
  }

  forget(): void {
    this.#told = [];
    this.#lost = [];
  }

  add(told: Told): void {
    const latest = this.#told[0];
    const { leastMs } = this.#latencies;
    if (latest !== undefined && told.ticket < latest.ticket) {
      // Decided after the latest, maybe: it was in flight when that was sent.
      if (told.answeredMs > latest.sentMs + leastMs) {
        this.#told = [latest, ...this.#told.filter((other) => other !== latest && !outdone(other, told)), told];
      }
      return;
    }
    this.#told = [told, ...this.#told.filter((other) => other.answeredMs > told.sentMs + leastMs && !outdone(other, told))];
    this.#lost = this.#lost.filter((answeredMs) => answeredMs > told.sentMs);
  }
}

/** Whether one answer bounds everything that the other does, and for longer. */
function outdone(other: Told, by: Told): boolean {
  return by.remaining <= other.remaining && by.sentMs >= other.sentMs && by.answeredMs >= other.answeredMs && by.untilMs >= other.untilMs;
}
