/** What the rows written so far add up to. Counted as rows leave, so it always agrees with the output. */
import type { Outcome, RecordResult } from '../processor/result.ts';
import type { FinishedError } from '../reader/types.ts';
import { NamedCounts } from './named-counts.ts';

export interface Tally {
  readonly total: number;
  readonly outcomes: Readonly<Record<Outcome, number>>;
  /** Rows by `verify.result`, without those that failed at a later step: a retry replaces them, and cannot tell what they said. */
  readonly verification: Readonly<Record<string, number>>;
  /** `failed` and `invalid` rows by `<step>:<code>`, see `errorName`. Left out by versions of before. */
  readonly errors?: Readonly<Record<string, number>>;
}

/** What the row of a record without a step is counted under: nothing was asked for it. */
const NO_STEP = 'input';

/** `<step>:<code>`; a step's name has no colon. */
export function errorName(step: string | null, code: string): string {
  return `${step ?? NO_STEP}:${code}`;
}

export const EMPTY_TALLY: Tally = { total: 0, outcomes: { matched: 0, no_match: 0, invalid: 0, suppressed: 0, failed: 0 }, verification: {} };

export class Tallying {
  #total: number;
  readonly #outcomes: Record<Outcome, number>;
  readonly #verification: NamedCounts;
  readonly #errors: NamedCounts;

  constructor(from: Tally) {
    this.#total = from.total;
    this.#outcomes = { ...from.outcomes };
    this.#verification = new NamedCounts(from.verification);
    this.#errors = new NamedCounts(from.errors);
  }

  add(result: RecordResult): void {
    this.#total++;
    this.#outcomes[result.outcome]++;
    const { outcome, error, failure, verify } = result;
    if (outcome === 'failed' || outcome === 'invalid') this.#errors.add(errorName(failure?.step ?? null, failure?.code ?? error ?? ''), 1);
    if (verify !== null && outcome !== 'failed') this.#verification.add(verify.record.result, 1);
  }

  /** A row that was `failed` and counted so is now this. @param was its line in the errors file */
  replaceFailed(result: RecordResult, was: Pick<FinishedError, 'step' | 'code'> | null): void {
    this.#total--;
    this.#outcomes.failed--;
    if (was !== null) this.#errors.takeOne(errorName(was.step, was.code));
    this.add(result);
  }

  /** Rows that were counted elsewhere. */
  addAll({ total, outcomes, verification, errors = {} }: Tally): void {
    this.#total += total;
    for (const outcome of Object.keys(outcomes) as Outcome[]) this.#outcomes[outcome] += outcomes[outcome];
    this.#verification.addAll(verification);
    this.#errors.addAll(errors);
  }

  snapshot(): Tally {
    return { total: this.#total, outcomes: { ...this.#outcomes }, verification: this.#verification.snapshot(), errors: this.#errors.snapshot() };
  }
}
