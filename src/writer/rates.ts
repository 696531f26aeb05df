/** The shares of a result by which a list is judged. Pure. */
import type { Tally } from './tally.ts';

type Counted = { readonly outcomes: Readonly<Pick<Tally['outcomes'], 'matched' | 'no_match'>> };

/** Matched records as a share (0 to 1) of those that the service has answered; null without any. */
export function matchRate({ outcomes: { matched, no_match: missed } }: Counted): number | null {
  return matched + missed === 0 ? null : matched / (matched + missed);
}

/** `deliverable` as a share (0 to 1) of all verdicts; null without any. */
export function deliverableRate({ verification }: Pick<Tally, 'verification'>): number | null {
  const verdicts = Object.values(verification).reduce((sum, count) => sum + count, 0);
  return verdicts === 0 ? null : (verification['deliverable'] ?? 0) / verdicts;
}

/** A share as a person reads it: 0.4 is `40 %`, and 0.12345 is `12.3 %`. */
export function percent(share: number): string {
  return `${Math.round(share * 1_000) / 10} %`;
}
