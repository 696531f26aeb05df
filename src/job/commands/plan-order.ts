/** Which order of a step's providers would cost least, by their match rates and prices. Pure. */
import type { JobProvider } from '../../definition/compiled-job.ts';
import { creditsEach, probabilityOf, type StepRates } from './plan-providers.ts';
import type { OrderedRecords, StepCounts } from './plan-counts.ts';
import type { Step } from '../../steps/registry.ts';

/** With more providers than this, the orders are not all tried. */
const MOST_TRIED = 5;
/** Costs that differ by less are the same. */
const SAME = 1e-9;

export const ASSUMPTION =
  'misses of one provider say nothing about another, a match settles its record, and a miss costs nothing unless the definition says so';

export interface OrderForecast {
  readonly given: readonly string[];
  /** Null where a provider has no match rate. */
  readonly cheapest: readonly string[] | null;
  /** In `unit`, over all records of the step; null where `cheapest` is. */
  readonly cost: { readonly given: number; readonly cheapest: number } | null;
  /** A currency where all prices are in it, else `credits`. */
  readonly unit: string;
  /** Providers without a match rate. */
  readonly unrated: readonly string[];
}

/** Null for a step with one provider, or without a record to pay for. @param providers in the order given */
export function orderForecast(
  step: Step,
  providers: readonly JobProvider[],
  { records }: Pick<StepCounts, 'records'>,
  rates: StepRates,
): OrderForecast | null {
  if (providers.length < 2 || records.every(({ unknown }) => unknown === 0)) return null;
  const given = providers.map(({ name }) => name);
  const own = rates[step] ?? [];
  const currency = currencyOf(providers);
  const base = { given, unit: currency ?? 'credits', unrated: given.filter((_, place) => (own[place] ?? null) === null) };
  const prices = providers.map((provider, place) => {
    const credits = creditsEach(provider, step, own[place] ?? null);
    return credits === null ? null : credits * (currency === null ? 1 : (provider.creditPrice?.perCredit ?? 0));
  });
  const weighed = records.map((one) => ({ ...one, weight: weightOf(one, step, rates) }));
  if (base.unrated.length > 0 || prices.includes(null) || weighed.some(({ weight }) => weight === null))
    return { ...base, cheapest: null, cost: null };
  const costOf = (order: readonly number[]): number =>
    weighed.reduce(
      (sum, one) => sum + (one.weight ?? 0) * costOfRecord(order, one, prices as readonly number[], own as readonly number[]),
      0,
    );
  const first = given.map((_, place) => place);
  let best: { readonly order: readonly number[]; readonly cost: number } = { order: first, cost: costOf(first) };
  const before = best.cost;
  for (const order of ordersOf(first, prices as readonly number[], own as readonly number[])) {
    const cost = costOf(order);
    if (cost < best.cost - SAME) best = { order, cost };
  }
  return {
    ...base,
    cheapest: best.order.map((place) => given[place] ?? ''),
    cost: { given: rounded(before), cheapest: rounded(best.cost) },
  };
}

/** Every order for a few providers; for more the one by price for a match, which is the best one where all can be asked. */
function ordersOf(places: readonly number[], prices: readonly number[], rates: readonly number[]): readonly (readonly number[])[] {
  if (places.length <= MOST_TRIED) return permutations(places);
  const each = (place: number): number => ((rates[place] ?? 0) === 0 ? Infinity : (prices[place] ?? 0) / (rates[place] ?? 0));
  return [places.toSorted((one, other) => (each(one) === each(other) ? one - other : each(one) - each(other)))];
}

function permutations(places: readonly number[]): readonly (readonly number[])[] {
  if (places.length <= 1) return [places];
  return places.flatMap((first) => permutations(places.filter((one) => one !== first)).map((rest) => [first, ...rest]));
}

/** The expected cost of one record when the providers are asked in this order. */
function costOfRecord(
  order: readonly number[],
  { unknown, settled }: Pick<OrderedRecords, 'unknown' | 'settled'>,
  prices: readonly number[],
  rates: readonly number[],
): number {
  let isReached = 1;
  let cost = 0;
  for (const place of order) {
    const bit = 1 << place;
    if ((settled & bit) !== 0) break;
    if ((unknown & bit) === 0) continue;
    cost += isReached * (prices[place] ?? 0);
    isReached *= 1 - (rates[place] ?? 0);
  }
  return cost;
}

function weightOf({ found, records }: OrderedRecords, step: Step, rates: StepRates): number | null {
  const probability = probabilityOf({ after: 0, found }, step, rates);
  return probability === null ? null : records * probability;
}

/** Null unless all have a price in one currency. */
function currencyOf(providers: readonly JobProvider[]): string | null {
  const currencies = new Set(providers.map(({ creditPrice }) => creditPrice?.currency ?? null));
  const [only = null] = currencies;
  return currencies.size === 1 ? only : null;
}

function rounded(cost: number): number {
  return Math.round(cost * 100) / 100;
}
