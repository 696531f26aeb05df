/** Predicates: what a search asks of rows, as terms, ranges, row ids, and combinations of them. Pure. */
import type { Circle } from '../records/filter-value.ts';
import type { SlicedField } from '../store/index/bit-slices.ts';

/** Numbers from `min` to `max`, both included; null leaves that end open. */
export interface RangePredicate {
  readonly kind: 'range';
  readonly field: SlicedField;
  /** Distinguishes the numbers of one field, such as the sizes of departments; empty for most fields. */
  readonly key: string;
  readonly min: number | null;
  readonly max: number | null;
}

export type Predicate =
  | { readonly kind: 'term'; readonly term: string }
  | RangePredicate
  | { readonly kind: 'rows'; readonly rows: readonly number[] }
  /** Any of the terms with these ids. */
  | { readonly kind: 'ids'; readonly ids: readonly number[] }
  | { readonly kind: 'all' | 'any'; readonly of: readonly Predicate[] }
  /** For people only: some company ids belong to domains without a record, and `not` would match them. */
  | { readonly kind: 'not'; readonly of: Predicate };

/** Keys that are looked up when the search runs: they become rows or ids of terms. */
export type PersonKeys =
  | { readonly kind: 'profiles'; readonly urls: readonly string[] }
  /** Places within any of the circles. */
  | { readonly kind: 'circles'; readonly circles: readonly Circle[] };
export interface CompanyKeys {
  readonly kind: 'domains';
  readonly domains: readonly string[];
}

/** The conditions of a filter on people and on their employers. A person matches when either does. */
export interface FilterSides {
  readonly person?: Predicate | PersonKeys;
  readonly company?: Predicate | CompanyKeys;
}

/** The condition of one filter as it was asked. */
export interface FilterGroup extends FilterSides {
  /** The group removes the people that match. */
  readonly exclude: boolean;
}

/** The condition of one filter. A search has a list of groups, and a person must pass all of them. */
export interface PredicateGroup {
  readonly person?: Predicate;
  readonly company?: Predicate;
  readonly exclude: boolean;
}

export const term = (name: string): Predicate => ({ kind: 'term', term: name });
export const all = (of: readonly Predicate[]): Predicate => ({ kind: 'all', of });
export const any = (of: readonly Predicate[]): Predicate => ({ kind: 'any', of });
export const not = (of: Predicate): Predicate => ({ kind: 'not', of });
export const range = (field: SlicedField, min: number | null, max: number | null, key = ''): Predicate => ({
  kind: 'range',
  field,
  key,
  min,
  max,
});
