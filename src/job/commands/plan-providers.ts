/** The forecast for each provider of a job, from what `PlanCounting` has counted. Pure. */
import type { CompiledJob, JobProvider } from '../../definition/compiled-job.ts';
import { costOf, type Money } from '../../definition/credit-price.ts';
import { usesBatches } from '../../definition/job-provider.ts';
import { requestsFor } from '../../lookup/request-size.ts';
import { VERIFY_BATCH } from '../../processor/verify.ts';
import type { OpenLookups, PlaceCounts, Places, PlanCounts } from './plan-counts.ts';
import type { Step, ByStep } from '../../steps/registry.ts';

/** `atMost`: when no earlier provider settles a record. `expected`: by the match rates, null where one is missing. */
export interface Range {
  readonly atMost: number;
  readonly expected: number | null;
}

export interface PlaceForecast {
  /** 1 is asked first. */
  readonly place: number;
  /** Lookups that are paid for. */
  readonly lookups: Range;
  readonly fromLedger: number;
  /** Lookups whose answer is promised already. Left out without any. */
  readonly promised?: number;
  /** With batches: as if each of them were full. */
  readonly requests: Range;
  /** Requests for answers that come later, at least: one for each lookup that is asked or promised. Left out where answers come at once. */
  readonly polls?: number;
  /** The share of lookups that match (of verdicts that settle an address), 0 to 1. Null without an answer so far. */
  readonly matchRate: number | null;
  readonly credits: Range;
}

export interface ProviderForecast {
  readonly steps: ByStep<PlaceForecast>;
  readonly requests: Range;
  readonly polls?: number;
  readonly credits: Range;
  /** `credits.expected` in money; null without a price, or without `expected`. */
  readonly cost: Money | null;
  /** At its own quota, for the expected requests, else for the most: as of a plan with one service. */
  readonly seconds: number | null;
  readonly secondsWithBurst: number | null;
}

/** The match rates of a step, by place; null where nothing is known. */
export type PlaceRates = readonly (number | null)[];
export type StepRates = ByStep<PlaceRates>;

/**
 * The match rate of each provider of each step.
 * @param ofLedger by the provider's name. @param stated the rate that the user states for all; null: by the ledger
 */
export function ratesFor(
  { waterfalls }: Pick<CompiledJob, 'waterfalls'>,
  counts: PlanCounts,
  ofLedger: ReadonlyMap<string, ByStep<number>>,
  stated: number | null,
): StepRates {
  return Object.fromEntries(
    Object.entries(waterfalls).map(([name, { from }]) => {
      const step = name;
      const known = (place: number): number | null =>
        step === 'verify' ? settlingRate(counts.verify?.places[place]) : (ofLedger.get(from[place] ?? '')?.[step] ?? null);
      return [step, from.map((_, place) => stated ?? known(place))];
    }),
  );
}

/** The ledger's statistics have no verdicts, so the share is that of the addresses of this input. */
function settlingRate(counts: PlaceCounts | undefined): number | null {
  return counts === undefined || counts.known === 0 ? null : counts.settling / counts.known;
}

/** How probable it is that these lookups are asked, if misses are independent of one another. Null where a rate is missing. */
export function probabilityOf({ after, found }: Pick<OpenLookups, 'after' | 'found'>, step: Step, rates: StepRates): number | null {
  const reached = noneOf(after, rates[step] ?? []);
  if (found === null) return reached;
  const notFound = noneOf(found.places, rates[found.step] ?? []);
  return reached === null || notFound === null ? null : reached * (1 - notFound);
}

function noneOf(places: Places, rates: PlaceRates): number | null {
  let none = 1;
  for (const [place, rate] of rates.entries()) {
    if ((places & (1 << place)) === 0) continue;
    if (rate === null) return null;
    none *= 1 - rate;
  }
  return none;
}

/** The expected cost of one lookup in credits, by its match rate. Null where that is not known. */
export function creditsEach({ definition }: Pick<JobProvider, 'definition'>, step: Step, rate: number | null): number | null {
  const operation = definition.operations[step];
  if (operation === undefined) return 0;
  // A verdict is always paid for, and so is every answer where `credits` is a number.
  const isFlat = step === 'verify' || /^\s*\d+(?:\.\d+)?\s*$/.test(operation.credits?.text ?? '');
  if (isFlat) return operation.creditsAtMost;
  return rate === null ? null : operation.creditsAtMost * rate;
}

export function placeForecast(provider: JobProvider, step: Step, place: number, counts: PlaceCounts, rates: StepRates): PlaceForecast {
  const rate = rates[step]?.[place] ?? null;
  const atMost = counts.open.reduce((sum, { lookups }) => sum + lookups, 0);
  let expected: number | null = 0;
  for (const open of counts.open) {
    const probability = probabilityOf(open, step, rates);
    expected = expected === null || probability === null ? null : expected + open.lookups * probability;
  }
  const each = atMost === 0 ? 0 : creditsEach(provider, step, rate);
  const whole = expected === null ? null : Math.round(expected);
  const polls = pollsOf(provider, step, counts, whole);
  return {
    place: place + 1,
    lookups: { atMost, expected: whole },
    fromLedger: counts.known,
    ...(counts.promised === 0 ? {} : { promised: counts.promised }),
    requests: { atMost: requestsOf(provider, step, atMost), expected: whole === null ? null : requestsOf(provider, step, whole) },
    ...(polls === 0 ? {} : { polls }),
    matchRate: rate,
    credits: {
      atMost: atMost * (provider.definition.operations[step]?.creditsAtMost ?? 0),
      expected: expected === null || each === null ? null : Math.round(expected * each),
    },
  };
}

/**
 * A promise is asked about once at least, and batches are taken to be full.
 * @param expected lookups; null where only those that are certainly asked are known
 */
function pollsOf(provider: JobProvider, step: Step, { promised, open }: PlaceCounts, expected: number | null): number {
  const { poll = null, batch = null } = provider.definition.operations[step] ?? {};
  const isTogether = usesBatches(provider, step);
  const each = isTogether && batch?.poll !== undefined ? batch.size : 1;
  const certain = open.reduce((sum, { after, found, lookups }) => sum + (after === 0 && found === null ? lookups : 0), 0);
  const isLate = isTogether ? batch?.poll !== undefined : poll !== null;
  return Math.ceil((promised + (isLate ? (expected ?? certain) : 0)) / each);
}

function requestsOf(provider: JobProvider, step: Step, lookups: number): number {
  const { definition } = provider;
  if (definition.client === 'built-in') return step === 'verify' ? requestsFor(lookups, { largest: VERIFY_BATCH, from: null }) : lookups;
  return usesBatches(provider, step) ? Math.ceil(lookups / (definition.operations[step]?.batch?.size ?? 1)) : lookups;
}

/** @param timesOf the times that a number of requests takes at the provider, by step */
export function providerForecast(
  provider: JobProvider,
  { waterfalls }: Pick<CompiledJob, 'waterfalls'>,
  counts: PlanCounts,
  rates: StepRates,
  timesOf: (requests: ByStep<number>) => Pick<ProviderForecast, 'seconds' | 'secondsWithBurst'>,
): ProviderForecast {
  const steps: Record<string, PlaceForecast> = {};
  for (const [name, { from }] of Object.entries(waterfalls)) {
    const step = name;
    const place = from.indexOf(provider.name);
    const counted = counts[step]?.places[place];
    if (counted !== undefined) steps[step] = placeForecast(provider, step, place, counted, rates);
  }
  const all = Object.values(steps);
  const credits = sumOf(all.map((one) => one.credits));
  const requests = Object.fromEntries(
    Object.entries(steps).map(([step, one]) => [step, (one.requests.expected ?? one.requests.atMost) + (one.polls ?? 0)]),
  );
  const polls = all.reduce((sum, one) => sum + (one.polls ?? 0), 0);
  return {
    steps,
    requests: sumOf(all.map((one) => one.requests)),
    ...(polls === 0 ? {} : { polls }),
    credits,
    cost: provider.creditPrice === null || credits.expected === null ? null : costOf(credits.expected, provider.creditPrice),
    ...timesOf(requests),
  };
}

export function sumOf(ranges: readonly Range[]): Range {
  return {
    atMost: ranges.reduce((sum, { atMost }) => sum + atMost, 0),
    expected: ranges.reduce<number | null>((sum, { expected }) => (sum === null || expected === null ? null : sum + expected), 0),
  };
}
