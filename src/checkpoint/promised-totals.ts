/** Lookups whose answers were promised for later, over all resumes. Each count only grows: of two states the greater holds. Pure. */

export interface PromisedCounts {
  /** Lookups that were promised, and those of them that were answered. */
  readonly lookups: number;
  readonly answered: number;
  /** Credits that promises have named, and those of them that belong to lookups which were answered. */
  readonly charged: number;
  readonly settled: number;
}

/** By step. */
export type PromisedTotals = Readonly<Record<string, PromisedCounts>>;

export const NONE_PROMISED: PromisedCounts = { lookups: 0, answered: 0, charged: 0, settled: 0 };

const NAMES = Object.keys(NONE_PROMISED) as (keyof PromisedCounts)[];

/** Lookups without their answer, and the credits that were named for them. */
export function openOf({ lookups, answered, charged, settled }: PromisedCounts): { readonly lookups: number; readonly charged: number } {
  return { lookups: Math.max(0, lookups - answered), charged: Math.max(0, charged - settled) };
}

/** Credits that open answers may still cost. @param each the most that a lookup of a step costs */
export function reservedCredits<Name extends string>(
  promised: Iterable<readonly [Name, PromisedCounts]>,
  each: (step: Name) => number,
): number {
  let sum = 0;
  for (const [step, counts] of promised) {
    const { lookups, charged } = openOf(counts);
    sum += Math.max(0, lookups * each(step) - charged);
  }
  return sum;
}

/** The later of two states of one run, or the sum of several runs. @param join of two counts */
export function joinPromised(all: readonly (PromisedTotals | undefined)[], join: (one: number, other: number) => number): PromisedTotals {
  const joined: Record<string, PromisedCounts> = {};
  for (const [step, counts] of all.flatMap((one) => Object.entries(one ?? {}))) {
    const before = joined[step] ?? NONE_PROMISED;
    joined[step] = Object.fromEntries(NAMES.map((name) => [name, join(before[name], counts[name])])) as unknown as PromisedCounts;
  }
  return joined;
}
