/** What people and companies that were made ready for the store have in common. Pure. */
import type { TermCollector, TermTable } from '../search/term-table.ts';
import type { TextCollector, Texts } from './kept-texts.ts';

export type ColumnValue = string | number | null;

/** Where what is said of many records together is put while they are made ready. */
export interface Collectors {
  /** Is told what a new record is found by; null: that is left out. */
  readonly terms: TermCollector | null;
  readonly texts: TextCollector;
}

/** The same as those who write take it: what `from`, `to` and the like of the records lead to. */
export interface Collected {
  readonly terms: TermTable;
  readonly texts: Texts;
}
