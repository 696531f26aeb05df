/** The parameters of every list. */
import type { Parameter } from './operation.ts';

export interface LimitParameter extends Parameter {
  readonly schema: { readonly type: 'integer'; readonly minimum: 1; readonly maximum: number; readonly default: number };
}

export function limitParameter(usual: number, maximum: number): LimitParameter {
  return { description: 'How many at most.', schema: { type: 'integer', minimum: 1, maximum, default: usual }, example: 10 };
}

/** The limit, or null when the text is not a limit. */
export function readLimit({ schema: { minimum, maximum } }: LimitParameter, text: string): number | null {
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : NaN;
  return limit >= minimum && limit <= maximum ? limit : null;
}

export const CURSOR: Parameter = {
  description: 'The `next_cursor` of the page before, as it was, with the same filters and order.',
  schema: { type: 'string', pattern: '^[A-Za-z0-9_-]+$' },
};
