/** What the rows written so far add up to. Counted as rows leave, so it always agrees with the output. */
import type { Outcome, RecordResult } from '../processor/result.ts';

export interface Tally {
  readonly total: number;
  readonly outcomes: Readonly<Record<Outcome, number>>;
  /** Rows by `verify.result`, without those that failed at a later step: a retry replaces them, and cannot tell what they said. */
  readonly verification: Readonly<Record<string, number>>;
}

export const EMPTY_TALLY: Tally = { total: 0, outcomes: { matched: 0, no_match: 0, invalid: 0, suppressed: 0, failed: 0 }, verification: {} };

/** Verdicts counted by name; a service that invents more of them, or longer ones, gets the rest counted as `other`. */
const MAX_VERDICTS = 32;
const LONGEST_VERDICT = 64;

export class Tallying {
  #total: number;
  readonly #outcomes: Record<Outcome, number>;
  /** A map, because a service may call a verdict `constructor` or `__proto__`. */
  readonly #verification: Map<string, number>;

  constructor(from: Tally) {
    this.#total = from.total;
    this.#outcomes = { ...from.outcomes };
    this.#verification = new Map(Object.entries(from.verification));
  }

  add(result: RecordResult): void {
    this.#total++;
    this.#outcomes[result.outcome]++;
    if (result.verify === null || result.outcome === 'failed') return;
    const verdict = result.verify.record.result;
    this.#addVerdict(verdict, 1);
  }

  /** A row that was `failed` and counted so is now this. */
  replaceFailed(result: RecordResult): void {
    this.#total--;
    this.#outcomes.failed--;
    this.add(result);
  }

  /** Rows that were counted elsewhere. */
  addAll({ total, outcomes, verification }: Tally): void {
    this.#total += total;
    for (const outcome of Object.keys(outcomes) as Outcome[]) this.#outcomes[outcome] += outcomes[outcome];
    for (const [verdict, rows] of Object.entries(verification)) this.#addVerdict(verdict, rows);
  }

  #addVerdict(verdict: string, rows: number): void {
    const known = this.#verification.has(verdict) || (this.#verification.size < MAX_VERDICTS && verdict.length <= LONGEST_VERDICT);
    const name = known ? verdict : 'other';
    this.#verification.set(name, (this.#verification.get(name) ?? 0) + rows);
  }

  snapshot(): Tally {
    return { total: this.#total, outcomes: { ...this.#outcomes }, verification: Object.fromEntries(this.#verification) };
  }
}
