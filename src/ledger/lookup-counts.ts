/** Distinct lookups, and how many of them an earlier run had paid for. */
export interface Lookups {
  readonly lookups: number;
  readonly reused: number;
}

/** The counts of this process: since the ledger was opened, and the part that is not stored yet. Pure. */
export class LookupCounts {
  readonly #all = { lookups: 0, reused: 0 };
  readonly #written = { lookups: 0, reused: 0 };

  lookup(): void {
    this.#all.lookups++;
  }

  reuse(): void {
    this.#all.reused++;
  }

  get all(): Lookups {
    return { ...this.#all };
  }

  get waiting(): readonly [lookups: number, reused: number] {
    return [this.#all.lookups - this.#written.lookups, this.#all.reused - this.#written.reused];
  }

  /** The stored counts plus those that are not stored yet. */
  beside({ lookups, reused }: Lookups): Lookups {
    const [more, moreReused] = this.waiting;
    return { lookups: lookups + more, reused: reused + moreReused };
  }

  /** All counts are stored. */
  written(): void {
    Object.assign(this.#written, this.#all);
  }
}
