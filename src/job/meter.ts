/** What this execution alone adds up to, as a monitor shows it: counters that begin at 0 with the process. */
import type { CallMeta } from '../client/types.ts';
import type { Outcome } from '../processor/result.ts';
import type { Step } from './types.ts';

/** Upper bounds of the buckets of a latency, seconds: from a service in the same rack to the longest timeout that is usual. */
export const LATENCY_BOUNDS_S: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** How many durations lay up to each bound and no further; the last count is of those beyond. */
export class Durations {
  readonly counts: number[] = LATENCY_BOUNDS_S.map(() => 0).concat(0);
  sumS = 0;

  add(seconds: number): void {
    const found = LATENCY_BOUNDS_S.findIndex((bound) => seconds <= bound);
    const bucket = found < 0 ? LATENCY_BOUNDS_S.length : found;
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1;
    this.sumS += seconds;
  }
}

/** What one step has asked for. */
export interface StepMeter {
  /** Answers by HTTP status; 0: none came. */
  readonly answers: Map<number, number>;
  readonly latency: Durations;
  retries: number;
}

export class Meter {
  readonly steps = new Map<Step, StepMeter>();
  readonly rows: Record<Outcome, number> = { matched: 0, no_match: 0, invalid: 0, suppressed: 0, failed: 0 };

  answered(step: Step, { status, latencyMs }: Pick<CallMeta, 'status' | 'latencyMs'>): void {
    const { answers, latency } = this.#of(step);
    answers.set(status, (answers.get(status) ?? 0) + 1);
    if (status > 0) latency.add(latencyMs / 1_000);
  }

  retrying(step: Step): void {
    this.#of(step).retries++;
  }

  written(outcome: Outcome): void {
    this.rows[outcome]++;
  }

  #of(step: Step): StepMeter {
    const known = this.steps.get(step);
    if (known !== undefined) return known;
    const made = { answers: new Map<number, number>(), latency: new Durations(), retries: 0 };
    this.steps.set(step, made);
    return made;
  }
}
