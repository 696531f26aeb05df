/** The outcome of a lookup for the records that wait for it. Pure. */
import type { LedgerAnswer } from '../ledger/ledger.ts';
import type { StepAnswer } from './result.ts';

export interface FailedLookup {
  readonly kind: 'failed';
  readonly code: string;
  readonly attempts: number;
  readonly requestId: string | null;
  /** The provider was given up, and the lookup was not answered: nothing is known about it. */
  readonly unavailable?: true;
  /** For the ledger: the note with which a retry asks for a promised answer that did not come in time. */
  readonly note?: string;
}

export type LookupOutcome<R> =
  | { readonly kind: 'hit'; readonly answer: StepAnswer<R> }
  | { readonly kind: 'miss' | 'suppressed' }
  | FailedLookup;

/** The outcome of a lookup that was not sent, because its provider was given up. */
export function unavailable(code: string): FailedLookup {
  return { kind: 'failed', code, attempts: 0, requestId: null, unavailable: true };
}

/** The outcome of a kept answer whose text is the record. */
export function fromLedger<R>(known: LedgerAnswer): LookupOutcome<R> {
  switch (known.kind) {
    case 'hit':
    case 'unsettled':
      return { kind: 'hit', answer: { record: JSON.parse(known.text) as R, text: known.text } };
    case 'miss':
    case 'suppressed':
      return known;
    case 'failed':
      return known;
    case 'asking':
      throw new Error('no answer yet');
    default:
      return known satisfies never;
  }
}
