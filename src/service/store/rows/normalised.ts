/** Types that normalised people and companies share. Pure. */
import type { TermCollector, TermTable } from '../index/term-table.ts';
import type { TextCollector, Texts } from './text-blobs.ts';

export type ColumnValue = string | number | null;

/** Collect terms and texts of a batch while its records are normalised. */
export interface Collectors {
  /** Null: search terms are left out. */
  readonly terms: TermCollector | null;
  readonly texts: TextCollector;
}

/** The collected terms and texts of a batch; spans of its records point into them. */
export interface Collected {
  readonly terms: TermTable;
  readonly texts: Texts;
}
