/** What became of a record that was put into the store. Types, and the bound that all records have. */
import type { Merged } from './merge.ts';

/** `dropped` names fields whose value was none. */
export type Put = { readonly kind: 'put'; readonly change: Merged['change']; readonly dropped: readonly string[] } | Rejected;

export interface Rejected extends Refusal {
  readonly kind: 'rejected';
}

/** Why a row is not kept. */
export interface Refusal {
  readonly code: string;
  readonly detail: string;
}

/** Larger records are somebody's mistake. Characters of JSON. */
export const MAX_DOC = 256 * 1024;

export const TOO_LARGE: Rejected = { kind: 'rejected', code: 'too_large', detail: `the record is longer than ${MAX_DOC} characters` };
