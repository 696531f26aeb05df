import type { AnswerKind } from './answer.ts';

export const DAY_MS = 86_400_000;

/** What says nothing, or nothing yet, is asked again by later runs. */
export function isReusable(kind: AnswerKind): boolean {
  return kind !== 'failed' && kind !== 'unsettled';
}
