/** Distinct lookups, and how many of them an earlier run had paid for. */
export interface Lookups {
  readonly lookups: number;
  readonly reused: number;
}

/** What this process has counted: since the ledger was opened, and of that, what the ledger does not say yet. Pure. */
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

  /** What the ledger says, and what waits. */
  beside({ lookups, reused }: Lookups): Lookups {
    const [more, moreReused] = this.waiting;
    return { lookups: lookups + more, reused: reused + moreReused };
  }

  /** The ledger says all of it now. */
  written(): void {
    Object.assign(this.#written, this.#all);
  }
}
