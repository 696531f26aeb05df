/** What became of one record. */
import type { CompanyRecord, ContactRecord, PersonRecord, VerificationResult } from '../client/types.ts';
import type { Step } from '../job/steps.ts';

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

/** What each step found; null: nothing, or it was not asked. */
export interface Answers {
  readonly enrich: Answered<PersonRecord> | null;
  readonly verify: Answered<VerificationResult> | null;
  readonly company: Answered<CompanyRecord> | null;
  readonly reveal: Answered<ContactRecord> | null;
}

export interface RecordResult extends Answers {
  readonly outcome: Outcome;
  /** `result.error`: a code; `<step>:<code>` when a later step than the job's first failed. */
  readonly error: string | null;
  readonly failure: Failure | null;
  /** The address that was asked for in place of the record's own, which had to be cleaned; null: the record's own, or none. */
  readonly didYouMean?: string | null;
}

export const NO_ANSWERS: Answers = { enrich: null, verify: null, company: null, reveal: null };

/** `retry`: the row stays as it stands in the finished output. Known by identity; it says nothing else. */
export const KEPT: RecordResult = { outcome: 'failed', error: null, ...NO_ANSWERS, failure: null };

/** Nothing of a person who asked to be removed, whichever step says so. */
export const SUPPRESSED: RecordResult = { outcome: 'suppressed', error: null, ...NO_ANSWERS, failure: null };

export function invalid(code: string): RecordResult {
  return { outcome: 'invalid', error: code, ...NO_ANSWERS, failure: { step: null, key: null, code, attempts: 0, requestId: null } };
}

/** `result.error` for a step that failed. @param steps the job's */
export function errorOf(step: string, code: string, steps: readonly Step[]): string {
  return step === steps[0] ? code : `${step}:${code}`;
}
