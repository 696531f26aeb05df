/** The result of one record. */
import type { StepAnswer } from '../lookup/lookup-outcome.ts';
import type { Contribution } from './contribution.ts';
import type { OpenPart } from './open-part.ts';
import type { ByStep, Step } from '../steps/registry.ts';

export type RecordOutcome = 'matched' | 'no_match' | 'invalid' | 'suppressed' | 'failed' | 'skipped';

/** The reason why a record is `failed` or `invalid`: a line of the errors file. */
interface StepFailure {
  readonly step: Step | null;
  readonly key: string | null;
  readonly code: string;
  readonly attempts: number;
  readonly requestId: string | null;
  /** The first provider that gave no answer, where the job names its providers. */
  readonly provider?: string;
}

export interface RecordResult {
  readonly outcome: RecordOutcome;
  /** `result.error`: a code; `<step>:<code>` when a later step than the job's first failed. */
  readonly error: string | null;
  readonly failure: StepFailure | null;
  /** The answers by step. A step that found nothing or was skipped has none. */
  readonly answers: ByStep<StepAnswer<Readonly<Record<string, unknown>>>>;
  /** The cleaned address that was looked up instead of the record's own; null when it needed no cleaning. */
  readonly didYouMean?: string | null;
  /** The record was looked up as a company: by its domain. Left out for a person. */
  readonly isCompany?: boolean;
  /** Steps that the record skipped by their conditions; left out for none. */
  readonly unmeant?: readonly Step[];
  /** Lookups that the record needed, paid for or not; left out for 0. */
  readonly lookups?: number;
  /** The ends of all lookups; left out for a job without providers. */
  readonly contributions?: readonly Contribution[];
  /** The steps that lack a field because a provider gave no answer; left out without one. A failed row is asked again as a whole. */
  readonly open?: readonly OpenPart[];
}

/** Whether the row lacks a field that `retry` may still fill. */
export function isOpen({ outcome, open }: Pick<RecordResult, 'outcome' | 'open'>): boolean {
  return open !== undefined && outcome !== 'failed';
}

/** For a retry: the row of the finished output stays. Recognised by identity; it has no other content. */
export const KEPT: RecordResult = { outcome: 'failed', error: null, answers: {}, failure: null };

/** The result of a suppressed person, whichever step reports it. */
export const SUPPRESSED: RecordResult = { outcome: 'suppressed', error: null, answers: {}, failure: null };

/** The result of a record that `input.where` leaves out. */
export const SKIPPED: RecordResult = { outcome: 'skipped', error: null, answers: {}, failure: null };

export function invalid(code: string): RecordResult {
  return { outcome: 'invalid', error: code, answers: {}, failure: { step: null, key: null, code, attempts: 0, requestId: null } };
}

/** `result.error` for a step that failed. @param steps the job's */
export function errorOf(step: string, code: string, steps: readonly Step[]): string {
  return step === steps[0] ? code : `${step}:${code}`;
}
