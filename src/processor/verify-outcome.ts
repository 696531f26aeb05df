/** The outcome of the verify step for an address. Pure. */
import type { VerificationResult } from '../client/types.ts';
import type { LedgerAnswer } from '../ledger/ledger.ts';
import type { SettledCall } from '../pool/call-pool.ts';
import { STILL_PENDING } from '../pool/call.ts';
import type { FailedLookup } from './lookup-outcome.ts';
import { readGroup } from './pending.ts';
import { writeNote, type PartNote } from './request-parts.ts';
import type { StepAnswer } from './result.ts';
import type { QuarantinedAnswer } from './miss-quarantine.ts';

export type VerifyOutcome =
  | { readonly kind: 'verdict'; readonly answer: StepAnswer<VerificationResult> }
  /** 451 for this address alone, or a result that says the same: the person asked to be removed. */
  | { readonly kind: 'suppressed' }
  | FailedLookup;

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

export function withoutVerdict(known: QuarantinedAnswer['answer']): Exclude<VerifyOutcome, { kind: 'verdict' }> {
  return known.kind === 'miss' ? { kind: 'failed', code: known.kind, attempts: 0, requestId: null } : known;
}

/**
 * Describes a request that ended without verdicts. `said`: the answer in words, for the quarantine; null when the service gave none that
 * judges the addresses. `refused`: the service refused the request, or it failed.
 */
export function unanswered(
  settled: Exclude<SettledCall<unknown>, { kind: 'ok' }>,
): Pick<QuarantinedAnswer, 'refused'> & { readonly said: string | null; readonly answer: Exclude<VerifyOutcome, { kind: 'verdict' }> } {
  const { status, attempts, requestId } = settled;
  if (settled.kind === 'failed') {
    const { code, rejected } = settled;
    return { said: rejected ? `${status} ${code}` : null, refused: true, answer: { kind: 'failed', code, attempts, requestId } };
  }
  const { kind } = settled;
  const answer = kind === 'suppressed' ? ({ kind } as const) : ({ kind: 'failed', code: kind, attempts, requestId } as const);
  return { said: `${status} ${kind}`, refused: false, answer };
}

/** An outcome as it is; where a promised answer did not come in time, with the note by which a retry asks for it. */
export function withNote<O extends { readonly kind: string }>(outcome: O | FailedLookup, note: PartNote): O | FailedLookup {
  return 'code' in outcome && outcome.code === STILL_PENDING ? { ...outcome, note: writeNote(note) } : outcome;
}

/** A success that does not have the shape of the provider's definition. It is paid for, and its parts would be paid for again. */
export function isUnreadable(settled: SettledCall<unknown>): boolean {
  return settled.kind === 'failed' && settled.rejected && settled.status >= 200 && settled.status < 300;
}

/** The answer in the ledger, without the group that polls for it. */
export function answered(kept: string): StepAnswer<VerificationResult> {
  const { text } = readGroup(kept);
  return { record: JSON.parse(text) as VerificationResult, text };
}
