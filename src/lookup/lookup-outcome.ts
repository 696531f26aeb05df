/** The outcome of a lookup for the records that wait for it. Pure. */
import { assert } from '../util/assert.ts';
import type { LedgerAnswer } from '../ledger/ledger.ts';
import { STILL_PENDING } from '../pool/call.ts';
import type { SettledCall } from '../pool/call-pool.ts';
import { readGroup } from './pending.ts';

/** An answer's parsed record and its own JSON text, on one line. */
export interface StepAnswer<T> {
  readonly record: T;
  readonly text: string;
}

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

/** The outcome of a lookup without a record. `suppressed`: the person asked to be removed. */
export type WithoutRecord = { readonly kind: 'miss' | 'suppressed' } | FailedLookup;

export type LookupOutcome<R> = { readonly kind: 'hit'; readonly answer: StepAnswer<R> } | WithoutRecord;

/** The outcome of a lookup that was not sent, because its provider was given up. */
export function unavailable(code: string): FailedLookup {
  return { kind: 'failed', code, attempts: 0, requestId: null, unavailable: true };
}

/** The outcome of a kept answer whose text is the record. */
export function fromLedger<R>(known: LedgerAnswer): LookupOutcome<R> {
  assert(known.kind !== 'asking', 'the lookup was answered');
  switch (known.kind) {
    case 'hit':
    case 'unsettled':
      return { kind: 'hit', answer: keptAnswer(known) };
    case 'miss':
    case 'suppressed':
      return { kind: known.kind };
    case 'failed':
      return known;
    default:
      return known satisfies never;
  }
}

/** The record in the ledger, without the group that polls for a final one. */
export function keptAnswer<R>(known: LedgerAnswer & { readonly kind: 'hit' | 'unsettled' }): StepAnswer<R> {
  const { text } = known.kind === 'unsettled' ? readGroup(known.text) : known;
  return { record: JSON.parse(text) as R, text };
}

/** A miss where a provider has to know an answer: a failure. @param call the attempts that it took, where this run asked */
export function missAsFailure({ attempts, requestId }: { readonly attempts: number; readonly requestId: string | null }): FailedLookup {
  return { kind: 'failed', code: 'miss', attempts, requestId };
}

/** A success that does not have the shape of the provider's definition. It is paid for, and its parts would be paid for again. */
export function isUnreadable(settled: SettledCall<unknown>): boolean {
  return settled.kind === 'failed' && settled.rejected && settled.status >= 200 && settled.status < 300;
}

/** An answer that the definition does not fit, and that a corrected one may take. */
const UNFIT: ReadonlySet<string> = new Set(['bad_shape', 'bad_mapping', 'bad_body']);

/**
 * Whether a promise stays open, so that a retry asks for its answer. Polls that fail do not end it, nor does an answer that the definition
 * does not fit; the provider's own refusal does.
 * @param ticket of the promise; null without one
 */
export function isStillOpen(ticket: string | null, settled: SettledCall<unknown>): boolean {
  if (settled.kind !== 'failed') return false;
  if (settled.code === STILL_PENDING) return true;
  return ticket !== null && (!settled.rejected || (settled.stored === undefined && UNFIT.has(settled.code)));
}
