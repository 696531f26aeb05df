/** What a filter means, as sets: terms, ranges, and what is made of them. Pure. */
import type { NumberName } from './numbers.ts';

/** Numbers from `min` to `max`, both included; null: open. `of` tells apart numbers of one kind, such as departments. */
export interface RangeExpression {
  readonly kind: 'range';
  readonly name: NumberName;
  readonly of: string;
  readonly min: number | null;
  readonly max: number | null;
}

export type Expression =
  | { readonly kind: 'term'; readonly term: string }
  | RangeExpression
  | { readonly kind: 'rows'; readonly rows: readonly number[] }
  | { readonly kind: 'all' | 'any'; readonly of: readonly Expression[] }
  /** Of people alone: among the numbers of companies there are some of which nothing is known, and they would be found. */
  | { readonly kind: 'not'; readonly of: Expression };

export const term = (name: string): Expression => ({ kind: 'term', term: name });
export const all = (of: readonly Expression[]): Expression => ({ kind: 'all', of });
export const any = (of: readonly Expression[]): Expression => ({ kind: 'any', of });
export const not = (of: Expression): Expression => ({ kind: 'not', of });
export const range = (name: NumberName, min: number | null, max: number | null, of = ''): Expression => ({ kind: 'range', name, of, min, max });
