import type { AnswerKind, LedgerAnswer } from './answer.ts';

export const MS_PER_DAY = 86_400_000;

/** Answers that are dated further ahead than this were written by a wrong clock. Clocks of several machines differ by less. */
export const CLOCK_ERROR_MS = 3_600_000;

/** Later runs ask unsettled and pending answers again. */
export function isReusable(kind: AnswerKind): boolean {
  return kind !== 'failed' && kind !== 'unsettled' && kind !== 'asking';
}

/** Whether a run of `own.job` may use another run's answer. @param at when it was given, milliseconds since 1970 Pure. */
export function mayReuse(
  kind: AnswerKind,
  at: number,
  job: string,
  own: { readonly job: string; readonly maxAgeDays: number; readonly now: () => number },
): boolean {
  if (!isReusable(kind)) return false;
  return own.maxAgeDays > 0 ? at >= own.now() - own.maxAgeDays * MS_PER_DAY : job === own.job;
}

/**
 * Whether an answer that another run got during this one counts for it too. An `unknown` verdict was paid for, and a refusal at the first
 * attempt is the service's decision. A failure after retries may be due to the other run's settings. Pure.
 */
export function countsForBoth(answer: LedgerAnswer): boolean {
  return answer.kind !== 'asking' && (answer.kind !== 'failed' || answer.attempts === 1);
}
