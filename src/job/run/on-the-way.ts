/** How far the records are that are read and not yet written. Verdicts come by the thousand, so that many rows wait for one request. */
import type { RecordOutcome } from '../../processor/result.ts';

export class RecordsOnTheWay {
  #settled = 0;
  readonly #outcomes = new Map<RecordOutcome, number>();

  /** The sum over these records of the share of their steps that is settled, 0 to 1 each. */
  get settled(): number {
    return Math.max(0, this.#settled);
  }

  /** Their outcomes, as far as the deciding step is settled. */
  get outcomes(): ReadonlyMap<RecordOutcome, number> {
    return this.#outcomes;
  }

  begin(): RecordOnTheWay {
    return new RecordOnTheWay((share, before, after) => {
      this.#settled += share;
      if (before === after) return;
      if (before !== null) this.#outcomes.set(before, (this.#outcomes.get(before) ?? 0) - 1);
      if (after !== null) this.#outcomes.set(after, (this.#outcomes.get(after) ?? 0) + 1);
    });
  }
}

type Count = (share: number, before: RecordOutcome | null, after: RecordOutcome | null) => void;

/** One record, from its start until its row is written. */
export class RecordOnTheWay {
  readonly #count: Count;
  #share = 0;
  #outcome: RecordOutcome | null = null;

  constructor(count: Count) {
    this.#count = count;
  }

  /** @param share of its steps that is settled. @param outcome null while it is open */
  is(share: number, outcome: RecordOutcome | null): void {
    this.#count(share - this.#share, this.#outcome, outcome);
    this.#share = share;
    this.#outcome = outcome;
  }

  /** Its row counts from now on. */
  written(): void {
    this.is(0, null);
  }
}
