/** Lookups whose answers are promised for later, and the credits that are reserved for them. Pure. */
import { NONE_PROMISED, openOf, reservedCredits, type PromisedTotals, type PromisedCounts } from '../../checkpoint/promised-totals.ts';
import type { Step } from '../../steps/registry.ts';

/** The counts of a step; they only grow. */
type Growing = { -readonly [K in keyof PromisedCounts]: PromisedCounts[K] };

export class PromisedLookups {
  readonly #counts = new Map<Step, Growing>();
  /** By step: open lookups of earlier runs that this one has not met yet. */
  readonly #unmet = new Map<Step, number>();

  constructor(from: PromisedTotals = {}) {
    for (const [name, counts] of Object.entries(from)) {
      this.#counts.set(name, { ...counts });
      this.#unmet.set(name, openOf(counts).lookups);
    }
  }

  /** A request was answered with a promise. @param credits that the answer has named */
  promised(step: Step, lookups: number, credits: number): void {
    const counts = this.#of(step);
    counts.lookups += lookups;
    counts.charged += credits;
  }

  /** A run asks for what was promised before. Promises to other runs, such as those of another job, are new here. */
  rejoined(step: Step, lookups: number, charged: number): void {
    const unmet = this.#unmet.get(step) ?? 0;
    if (unmet < lookups) this.promised(step, lookups, charged);
    else this.#unmet.set(step, unmet - lookups);
  }

  /** A poll was answered with another promise. */
  charged(step: Step, credits: number): void {
    this.#of(step).charged += credits;
  }

  /** The answer came. @param charged credits that its promises had named */
  answered(step: Step, lookups: number, charged: number): void {
    const counts = this.#of(step);
    counts.answered += lookups;
    counts.settled += charged;
  }

  /** Credits that open answers may still cost. @param each the most that a lookup of the step costs */
  reserved(each: (step: Step) => number): number {
    return this.#counts.size === 0 ? 0 : reservedCredits(this.#counts, each);
  }

  /** Undefined where nothing was promised. */
  toJSON(): PromisedTotals | undefined {
    return this.#counts.size === 0 ? undefined : Object.fromEntries([...this.#counts].map(([step, counts]) => [step, { ...counts }]));
  }

  #of(step: Step): Growing {
    let counts = this.#counts.get(step);
    if (counts === undefined) this.#counts.set(step, (counts = { ...NONE_PROMISED }));
    return counts;
  }
}
