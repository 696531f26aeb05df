/** The result of an upsert, and the bound of all records. */
import type { MergeResult } from '../merge/merge.ts';

export type UpsertResult = Put | Rejected;

interface Put {
  readonly kind: 'put';
  readonly change: MergeResult['change'];
  /** Fields with a bad value. */
  readonly dropped: readonly string[];
  /** The row gives a person the personal address of another one, and their names have nothing in common. */
  readonly sharesAddress?: true;
}

export interface Rejected extends Refusal {
  readonly kind: 'rejected';
}

/** Why a record is rejected. */
export interface Refusal {
  readonly code: string;
  readonly detail: string;
}

/** Characters of JSON. Larger records are mistakes. */
export const MAX_RECORD_CHARS = 256 * 1024;

export const TOO_LARGE: Rejected = {
  kind: 'rejected',
  code: 'too_large',
  detail: `the record is longer than ${MAX_RECORD_CHARS} characters`,
};
