/** Confidence, 0 to 100, as points that add up. Pure: the same facts give the same score. */

/** Incremented whenever the same facts would give another score. */
export const SCORE_VERSION = 2;

/**
 * The outcome of the stages. `delivered`, `verified`, `bounced`, `found_dead`: by own records. `not_checked`: nothing spoke for or against
 * the mailbox.
 */
export type ScoreOutcome =
  | 'accepted'
  | 'delivered'
  | 'verified'
  | 'mailbox_full'
  | 'unknown'
  | 'not_checked'
  | 'undeliverable'
  | 'bounced'
  | 'found_dead';

export interface ScoreFacts {
  readonly outcome: ScoreOutcome;
  /** Whether the domain takes mail for any name; null when not known. */
  readonly acceptAll: boolean | null;
  readonly disposable: boolean;
  /** Only on wider, less reliable lists. */
  readonly suspectedDisposable: boolean;
  readonly role: boolean;
  readonly probableTypo: boolean;
  readonly implicitMx: boolean;
  readonly fitsPattern: boolean;
  readonly deliveredIn90Days: boolean;
}

export interface ScoreFactor {
  readonly factor: string;
  readonly points: number;
}

interface Score {
  readonly confidence: number;
  readonly factors: readonly ScoreFactor[];
}

const BASE = { acceptedOnly: 97, accepted: 75, acceptAll: 50, mailboxFull: 40, unknown: 30, undeliverable: 0 } as const;
const POINTS = { fitsPattern: 10, recentDelivery: 25, implicitMx: -10, role: -15, typo: -25 } as const;
const CAP = { disposable: 20, suspectedDisposable: 60, role: 80, acceptAll: 80, unknown: 60, any: 100 } as const;

/**
 * The base of the outcome, then adjustments, then the lowest cap that applies; each is a factor, and their points sum to `confidence`.
 * Positive adjustments come before negative ones, and the total never goes below 0, so that worse facts never raise the score.
 * An undeliverable address is 0 without adjustments.
 */
export function score(facts: ScoreFacts): Score {
  const [name, points] = base(facts);
  const factors: ScoreFactor[] = [{ factor: name, points }];
  if (points === BASE.undeliverable) return { confidence: 0, factors };
  let total: number = points;
  const add = (factor: string, change: number): void => {
    const applied = Math.max(change, -total);
    if (applied === 0) return;
    factors.push({ factor, points: applied });
    total += applied;
  };
  if (facts.fitsPattern) add('fits_domain_pattern', POINTS.fitsPattern);
  if (facts.deliveredIn90Days) add('delivered_in_90_days', POINTS.recentDelivery);
  if (facts.implicitMx) add('implicit_mx', POINTS.implicitMx);
  if (facts.role) add('role', POINTS.role);
  if (facts.probableTypo) add('probable_typo', POINTS.typo);
  const [cap, limit] = lowestCap(facts);
  if (total > limit) add(cap, limit - total);
  return { confidence: total, factors };
}

function base({ outcome, acceptAll }: ScoreFacts): readonly [string, number] {
  switch (outcome) {
    case 'accepted':
      if (acceptAll === null) return ['accepted', BASE.accepted];
      return acceptAll ? ['accept_all', BASE.acceptAll] : ['accepted_not_accept_all', BASE.acceptedOnly];
    case 'delivered':
    case 'verified':
      // The records do not show whether the domain would have accepted other addresses.
      return acceptAll === true
        ? ['accept_all', BASE.acceptAll]
        : [outcome === 'delivered' ? 'recorded_delivery' : 'recorded_verdict', BASE.accepted];
    case 'mailbox_full':
      return ['mailbox_full', BASE.mailboxFull];
    case 'unknown':
      return ['unknown', BASE.unknown];
    case 'not_checked':
      return ['not_checked', BASE.unknown];
    case 'undeliverable':
      return ['undeliverable', BASE.undeliverable];
    case 'bounced':
      return ['recorded_bounce', BASE.undeliverable];
    case 'found_dead':
      return ['recorded_undeliverable', BASE.undeliverable];
    default:
      return outcome satisfies never;
  }
}

function lowestCap(facts: ScoreFacts): readonly [string, number] {
  if (facts.disposable) return ['cap_disposable', CAP.disposable];
  if (facts.outcome === 'unknown' || facts.outcome === 'not_checked') return ['cap_unknown', CAP.unknown];
  if (facts.suspectedDisposable) return ['cap_suspected_disposable', CAP.suspectedDisposable];
  if (facts.role) return ['cap_role', CAP.role];
  if (facts.acceptAll === true) return ['cap_accept_all', CAP.acceptAll];
  return ['cap', CAP.any];
}
