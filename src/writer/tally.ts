/** What the rows written so far add up to. Counted as rows leave, so it always agrees with the output. */
import type { Outcome, RecordResult } from '../processor/result.ts';

export interface Tally {
  readonly total: number;
  readonly outcomes: Readonly<Record<Outcome, number>>;
  /** Rows by `verify.result`. */
  readonly verification: Readonly<Record<string, number>>;
}

export const EMPTY_TALLY: Tally = { total: 0, outcomes: { matched: 0, no_match: 0, invalid: 0, suppressed: 0, failed: 0 }, verification: {} };

/** Verdicts counted by name; a service that invents more than this gets the rest counted as `other`. */
const MAX_VERDICTS = 32;

export class Tallying {
  #total: number;
  readonly #outcomes: Record<Outcome, number>;
  readonly #verification: Record<string, number>;

  constructor(from: Tally) {
    this.#total = from.total;
    this.#outcomes = { ...from.outcomes };
    this.#verification = { ...from.verification };
  }

  add(result: RecordResult): void {
    this.#total++;
    this.#outcomes[result.outcome]++;
    if (result.verify === null) return;
    const verdict = result.verify.record.result;
    const name = Object.hasOwn(this.#verification, verdict) || Object.keys(this.#verification).length < MAX_VERDICTS ? verdict : 'other';
    this.#verification[name] = (this.#verification[name] ?? 0) + 1;
  }

  snapshot(): Tally {
    return { total: this.#total, outcomes: { ...this.#outcomes }, verification: { ...this.#verification } };
  }
}
