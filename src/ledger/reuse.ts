import type { AnswerKind } from './answer.ts';

export const DAY_MS = 86_400_000;

/** What says nothing, or nothing yet, is asked again by later runs. */
export function isReusable(kind: AnswerKind): boolean {
  return kind !== 'failed' && kind !== 'unsettled';
}

/** Whether a run of `own.job` may use what another run was told. `at`: when, milliseconds since 1970. Pure. */
export function maySpare(kind: AnswerKind, at: number, job: string, own: { readonly job: string; readonly maxAgeDays: number; readonly now: () => number }): boolean {
  if (!isReusable(kind)) return false;
  return own.maxAgeDays > 0 ? at >= own.now() - own.maxAgeDays * DAY_MS : job === own.job;
}
