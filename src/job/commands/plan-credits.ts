/** The credits that a run will cost, by the share of lookups that match. */
import { openContents } from '../../ledger/open-contents.ts';
import type { ScopeStats } from '../../ledger/stats.ts';
import { costOf, moneyText, type CreditPrice, type Money } from '../../definition/credit-price.ts';
import { ledgerLocation } from '../../definition/ledger-location.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import { count } from '../../util/display.ts';
import { InputError } from '../../util/errors.ts';
import { percent } from '../../writer/rates.ts';
import type { PaidLookups } from './plan-counts.ts';
import { eachStep, SPECS, specOf, STEPS, type ByStep, type StandardStep } from '../../steps/registry.ts';

/** Steps whose lookups cost a credit when they find something. A verdict always costs one. */
const LOOKUPS = SPECS.filter(({ verdicts }) => verdicts === null).map(({ name }) => name);

/** By step, 0 to 1. A step without an answer so far has none. */
export type MatchRates = ByStep<number>;

export interface CreditForecast {
  /** The credits of a run whose lookups all match. */
  readonly atMost: number;
  /** By the match rates; null when a step that will be asked has none. */
  readonly expected: number | null;
  readonly matchRates: MatchRates;
  /** Where the match rates come from; null without any. */
  readonly from: 'stated' | 'ledger' | null;
  /** `expected` in money; null without `service.creditPrice`, or without `expected`. */
  readonly cost: Money | null;
}

/** Pure. @param stated the match rate that the user states (0 to 1); null: by the ledger */
export function forecastCredits(
  { asked, found }: PaidLookups,
  known: MatchRates,
  stated: number | null,
  creditPrice: CreditPrice | null,
): CreditForecast {
  const rates: MatchRates = stated === null ? known : eachStep(() => stated);
  const needed = LOOKUPS.filter((step) => asked[step] > 0);
  const isKnown = needed.every((step) => rates[step] !== undefined) && found.every(({ by }) => rates[by] !== undefined);
  // A verdict is always paid for.
  const rateOf = (step: StandardStep): number => (specOf(step).verdicts === null ? (rates[step] ?? 0) : 1);
  const sum = STEPS.reduce((credits, step) => credits + asked[step] * rateOf(step), 0);
  const neverMade = found.reduce((credits, { step, by, lookups }) => credits + lookups * rateOf(step) * (1 - (rates[by] ?? 0)), 0);
  const expected = isKnown ? Math.round(sum - neverMade) : null;
  return {
    atMost: Object.values(asked).reduce((credits, lookups) => credits + lookups, 0),
    expected,
    matchRates: Object.fromEntries(needed.flatMap((step) => (rates[step] === undefined ? [] : [[step, rates[step]]]))),
    from: needed.some((step) => rates[step] !== undefined) ? (stated === null ? 'ledger' : 'stated') : null,
    cost: expected === null || creditPrice === null ? null : costOf(expected, creditPrice),
  };
}

/** The share of answered lookups that matched, for each step of the service in the job's ledger. @throws MillraceError */
export async function ledgerMatchRates(job: CompiledJob, origin: string): Promise<MatchRates> {
  return (await matchRatesBy(job, [origin])).get(origin) ?? {};
}

/** The same for several services, in one reading. @throws MillraceError */
export async function matchRatesBy(job: CompiledJob, origins: readonly string[]): Promise<ReadonlyMap<string, MatchRates>> {
  const contents = await openContents(ledgerLocation(job.ledger.uri, job.ledger.uri)).catch((error: unknown) => {
    if (error instanceof InputError) return null;
    throw error;
  });
  if (contents === null) return new Map();
  try {
    const { scopes } = await contents.stats({ maxAgeDays: job.ledger.maxAgeDays, now: Date.now() });
    const ratesOf = (own: readonly ScopeStats[]): MatchRates =>
      Object.fromEntries(
        [...Map.groupBy(own, ({ step }) => step)]
          .filter(([step]) => specOf(step).verdicts === null)
          .flatMap(([step, some]) => rateOf(some).map((rate) => [step, rate])),
      );
    return new Map(origins.map((origin) => [origin, ratesOf(scopes.filter((scope) => scope.origin === origin))]));
  } catch (error) {
    if (error instanceof InputError) return new Map();
    throw error;
  } finally {
    contents.close();
  }
}

/** None when nothing was answered. */
function rateOf(scopes: readonly ScopeStats[]): number[] {
  const found = scopes.reduce((sum, { kinds }) => sum + kinds.hit + kinds.unsettled, 0);
  const missed = scopes.reduce((sum, { kinds }) => sum + kinds.miss, 0);
  return found + missed === 0 ? [] : [found / (found + missed)];
}

/** The credits of a match by what is known before any answer. */
const UNSAID = 'one, or as its definition says';

/** The forecast in words. */
export function creditsText({ atMost, expected, matchRates, from, cost }: CreditForecast, maxCredits: number | null): string {
  if (atMost === 0) return 'none';
  const rates = Object.entries(matchRates)
    .map(([step, rate]) => `${step} ${percent(rate)}`)
    .join(', ');
  const about =
    expected === null
      ? `at most ${count(atMost)}; with --match-rate 60% an estimate`
      : expected === atMost
        ? count(atMost)
        : `about ${count(expected)}, at most ${count(atMost)}`;
  const why = from === null ? '' : from === 'stated' ? ` (stated match rate: ${rates})` : ` (match rates in the ledger: ${rates})`;
  const stops = maxCredits !== null && (expected ?? atMost) > maxCredits ? `; limits.maxCredits stops the run at ${count(maxCredits)}` : '';
  const unsaid = maxCredits === null ? '' : `; for that limit a match whose answer names no credits counts as ${UNSAID}`;
  return `${about}${why}${cost === null ? '' : `; about ${moneyText(cost)}`}${stops}${unsaid}`;
}
