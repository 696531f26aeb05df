import type { CallMeta } from '../../client/types.ts';
import { Durations } from '../../telemetry/duration-histogram.ts';
import type { RecordOutcome } from '../../processor/result.ts';
import type { Step } from '../../steps/registry.ts';

/** Answers and retries of one step. */
export interface StepMeter {
  /** Answers by HTTP status; 0 for calls without an answer. */
  readonly answers: Map<number, number>;
  readonly latency: Durations;
  retries: number;
}

/** Counts of this execution for a monitor: they begin at 0 with the process. */
export class Meter {
  readonly steps = new Map<Step, StepMeter>();
  readonly rows: Record<RecordOutcome, number> = { matched: 0, no_match: 0, invalid: 0, suppressed: 0, failed: 0, skipped: 0 };

  answered(step: Step, { status, latencyMs }: Pick<CallMeta, 'status' | 'latencyMs'>): void {
    const { answers, latency } = this.#of(step);
    answers.set(status, (answers.get(status) ?? 0) + 1);
    if (status > 0) latency.add(latencyMs / 1_000);
  }

  retrying(step: Step): void {
    this.#of(step).retries++;
  }

  written(outcome: RecordOutcome): void {
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
