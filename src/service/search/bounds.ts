/** Where in the order of a search its results can lie at all: who asks for 500 employees and more, by headcount, need not pass by all the smaller. Pure. */
import type { Expression } from './expression.ts';
import type { NumberName } from './numbers.ts';
import type { Clause, Sort } from './search-index.ts';

/** Of the sort's column, both included; null: open. */
export interface Bounds {
  readonly min: number | null;
  readonly max: number | null;
}

const DAY_MS = 86_400_000;

/** The numbers that stand in the column of a sort, and how much of it one of them is. */
const NUMBER_OF: Partial<Record<Sort, { readonly name: NumberName; readonly unit: number }>> = {
  headcount: { name: 'employees', unit: 1 },
  updated_at: { name: 'updated', unit: DAY_MS },
};

export function boundsOf(clauses: readonly Clause[], sort: Sort): Bounds {
  const number = NUMBER_OF[sort];
  if (number === undefined) return { min: null, max: null };
  let [min, max] = [-Infinity, Infinity];
  for (const { exclude, person, company } of clauses) {
    // Of a clause on both sides, somebody may be found by the other.
    if (exclude || (person !== undefined && company !== undefined)) continue;
    const [low, high] = spanOf((person ?? company) as Expression, number.name);
    min = Math.max(min, low);
    max = Math.min(max, high);
  }
  const first = Math.ceil(min) * number.unit;
  const last = (Math.floor(max) + 1) * number.unit - 1;
  return { min: Number.isFinite(first) ? first : null, max: Number.isFinite(last) ? last : null };
}

/** From the least to the greatest that an expression lets the number be. */
function spanOf(expression: Expression, name: NumberName): readonly [number, number] {
  if (expression.kind === 'range' && expression.name === name) return [expression.min ?? -Infinity, expression.max ?? Infinity];
  if (expression.kind !== 'any' || expression.of.length === 0) return [-Infinity, Infinity];
  const spans = expression.of.map((part) => spanOf(part, name));
  return [Math.min(...spans.map(([low]) => low)), Math.max(...spans.map(([, high]) => high))];
}
