/** What the verify step says of an address. Pure. */
import type { VerificationResult } from '../client/types.ts';
import type { LedgerAnswer } from '../ledger/ledger.ts';
import { readGroup } from './pending.ts';
import type { Answered } from './result.ts';
import type { Doubtful } from './trust-gate.ts';

export type VerifyOutcome =
  | { readonly kind: 'verdict'; readonly answer: Answered<VerificationResult> }
  /** 451 for this address alone, or a result that says the same: the person asked to be removed. */
  | { readonly kind: 'suppressed' }
  | { readonly kind: 'failed'; readonly code: string; readonly attempts: number; readonly requestId: string | null };

export function fromLedger(known: LedgerAnswer): VerifyOutcome {
  switch (known.kind) {
    case 'hit':
    case 'unsettled':
      return { kind: 'verdict', answer: answered(known.text) };
    case 'failed':
    case 'suppressed':
    case 'miss':
      return withoutVerdict(known);
    case 'asking':
      throw new Error('no answer yet');
    default:
      return known satisfies never;
  }
}

export function withoutVerdict(known: Doubtful['answer']): Exclude<VerifyOutcome, { kind: 'verdict' }> {
  return known.kind === 'miss' ? { kind: 'failed', code: known.kind, attempts: 0, requestId: null } : known;
}

/** What the ledger has, without the group that it may wait in. */
export function answered(kept: string): Answered<VerificationResult> {
  const { text } = readGroup(kept);
  return { record: JSON.parse(text) as VerificationResult, text };
}
