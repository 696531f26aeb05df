/** How far the records are that are read and not yet written. Verdicts come by the thousand, so that many rows wait for one request. */
import type { RecordOutcome } from '../../processor/result.ts';

export class RecordsOnTheWay {
  /** The sum of the shares as it is counted, with the rest that fractions leave. */
  sum = 0;
  /** Their outcomes, as far as the deciding step is settled. */
  readonly outcomes: Record<RecordOutcome, number> = { matched: 0, no_match: 0, invalid: 0, suppressed: 0, failed: 0, skipped: 0 };

  /** The sum over these records of the share of their steps that is settled, 0 to 1 each. */
  get settled(): number {
    return Math.max(0, Math.round(this.sum * 1e6) / 1e6);
  }

  begin(): RecordOnTheWay {
    return new RecordOnTheWay(this);
  }
}

/** One record, from its start until its row is written. */
export class RecordOnTheWay {
  readonly #all: RecordsOnTheWay;
  #share = 0;
  #outcome: RecordOutcome | null = null;

  constructor(all: RecordsOnTheWay) {
    this.#all = all;
  }

  /** @param share of its steps that is settled. @param outcome null while it is open */
  is(share: number, outcome: RecordOutcome | null): void {
    const all = this.#all;
    all.sum += share - this.#share;
    if (this.#outcome !== outcome) {
      if (this.#outcome !== null) all.outcomes[this.#outcome]--;
      if (outcome !== null) all.outcomes[outcome]++;
      this.#outcome = outcome;
    }
    this.#share = share;
  }

  /** Its row counts from now on. */
  written(): void {
    this.is(0, null);
  }
}
