import type { AnswerKind, LedgerAnswer } from './answer.ts';

export const DAY_MS = 86_400_000;

/** What says nothing, or nothing yet, is asked again by later runs. */
export function isReusable(kind: AnswerKind): boolean {
  return kind !== 'failed' && kind !== 'unsettled' && kind !== 'asking';
}

/** Whether a run of `own.job` may use what another run was told. `at`: when, milliseconds since 1970. Pure. */
export function maySpare(kind: AnswerKind, at: number, job: string, own: { readonly job: string; readonly maxAgeDays: number; readonly now: () => number }): boolean {
  if (!isReusable(kind)) return false;
  return own.maxAgeDays > 0 ? at >= own.now() - own.maxAgeDays * DAY_MS : job === own.job;
}

/**
 * Whether an answer that another run got while this one was under way counts for it, too: an `unknown` verdict was paid for, and a refusal
 * at the first attempt is the service's word. A lookup that failed after retries may have failed by the other run's settings. Pure.
 */
export function countsForBoth(answer: LedgerAnswer): boolean {
  return answer.kind !== 'asking' && (answer.kind !== 'failed' || answer.attempts === 1);
}
