/** The shares of a result by which a list is judged. Pure. */
import type { KindCounts, Tally } from './tally.ts';

type Counted = { readonly outcomes: Readonly<Pick<Tally['outcomes'], 'matched' | 'no_match'>> };

/** Matched records as a share (0 to 1) of those that the service has answered; null without any. */
export function matchRate({ outcomes: { matched, no_match: missed } }: Counted): number | null {
  return matched + missed === 0 ? null : matched / (matched + missed);
}

/** A record is looked up as a person, or as a company: by its domain. */
export const KINDS = ['people', 'companies'] as const;
type Kind = (typeof KINDS)[number];

/** The answered records of each kind; a kind without one is left out. */
export type AnsweredKinds = Readonly<Partial<Record<Kind, KindCounts>>>;

export function answeredKinds({ outcomes, companies = { matched: 0, no_match: 0 } }: Counted & Pick<Tally, 'companies'>): AnsweredKinds {
  const people = { matched: outcomes.matched - companies.matched, no_match: outcomes.no_match - companies.no_match };
  return {
    ...(people.matched + people.no_match > 0 ? { people } : {}),
    ...(companies.matched + companies.no_match > 0 ? { companies } : {}),
  };
}

/** The kinds that have a match rate, with it. */
export function kindRates(kinds: AnsweredKinds): readonly { readonly kind: Kind; readonly rate: number }[] {
  return KINDS.flatMap((kind) => {
    const rate = kinds[kind] === undefined ? null : matchRate({ outcomes: kinds[kind] });
    return rate === null ? [] : [{ kind, rate }];
  });
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
