/** What became of one record. Types only. */
import type { PersonRecord, VerificationResult } from '../client/types.ts';
import type { Step } from '../job/types.ts';

export type Outcome = 'matched' | 'no_match' | 'invalid' | 'suppressed' | 'failed';

/** An answer's parsed record and its own JSON text, on one line. */
export interface Answered<T> { readonly record: T; readonly text: string }

/** Why a record is `failed` or `invalid`: a line of the errors file. */
export interface Failure {
  readonly step: Step | null;
  readonly key: string | null;
  readonly code: string;
  readonly attempts: number;
  readonly requestId: string | null;
}

export interface RecordResult {
  readonly outcome: Outcome;
  /** `result.error`: a code; `verify:<code>` when a later step than the first failed. */
  readonly error: string | null;
  readonly enrich: Answered<PersonRecord> | null;
  readonly verify: Answered<VerificationResult> | null;
  readonly failure: Failure | null;
}

/** `retry`: the row stays as it stands in the finished output. Known by identity; it says nothing else. */
export const KEPT: RecordResult = { outcome: 'failed', error: null, enrich: null, verify: null, failure: null };

export function invalid(code: string): RecordResult {
  return { outcome: 'invalid', error: code, enrich: null, verify: null, failure: { step: null, key: null, code, attempts: 0, requestId: null } };
}
