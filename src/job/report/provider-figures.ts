/** The part of a report about the providers that a job names: what each was asked, brought and cost. Pure. */
import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import { reservedCredits } from '../../checkpoint/promised-totals.ts';
import type { RunTotals, Throttled } from '../../checkpoint/run-totals.ts';
import { NEW_PROVIDER, type ProviderState } from '../../checkpoint/provider-state.ts';
import type { CompiledJob, JobProvider } from '../../definition/compiled-job.ts';
import { costOf, type CreditPrice, type Money } from '../../definition/credit-price.ts';
import { NO_COUNTS, type ProviderCounts, type ProviderTally } from '../../writer/provider-tally.ts';
import { exact } from '../run/counters.ts';
import { LatencyHistogram } from '../run/latency-histogram.ts';
import type { Step, ByStep } from '../../steps/registry.ts';

/** The share of a provider in the rows of the output, at one step. */
export interface ProviderStep extends ProviderCounts {
  /** Its place in the order in which the step asks: 1 is asked first. */
  readonly place: number;
  /** `matched` as a share of `matched` and `missed`, 0 to 1. Null without either. */
  readonly matchRate: number | null;
  readonly credits: number;
  /** The credits in money; left out without a price. */
  readonly cost?: Money;
  /** Credits for each row that has something from the provider. Null without such a row. */
  readonly creditsPerRow: number | null;
  /** The same in money, rounded to ten-thousandths. Left out without a price, null without such a row. */
  readonly costPerRow?: Money | null;
}

export interface ReportedProvider {
  /** The name of its definition. */
  readonly definition: string;
  /** Null for the embedded service. */
  readonly url: string | null;
  readonly plan: string | null;
  /** Requests by step. */
  readonly calls: Readonly<Record<string, number>>;
  readonly credits: number;
  /** The same where answers are still to come, did not arrive or cannot be read: the provider may charge more. Left out otherwise. */
  readonly creditsAtLeast?: number;
  /** The credits in money; left out without a price. */
  readonly cost?: Money;
  readonly retries: number;
  readonly throttled: Throttled;
  readonly latencyMs: { readonly p50: number | null; readonly p95: number | null; readonly p99: number | null };
  /** Why the latest run went on without the provider; null when it did not. */
  readonly skipped: string | null;
  /** The steps that ask it. */
  readonly steps: ByStep<ProviderStep>;
}

/** By the job's names. */
export type ReportedProviders = Readonly<Record<string, ReportedProvider>>;

/** Null for a job with one service. */
export function providerFigures(
  { providers, waterfalls, namesProviders }: Pick<CompiledJob, 'providers' | 'waterfalls' | 'namesProviders'>,
  { providers: states = {} }: Pick<Checkpoint, 'providers'>,
  tally: ProviderTally = {},
): ReportedProviders | null {
  if (!namesProviders) return null;
  return Object.fromEntries(
    providers.map((provider) => [provider.name, figuresOf(provider, states[provider.name] ?? NEW_PROVIDER, waterfalls, tally)]),
  );
}

/** The sum of all costs; null when a provider that has cost something has no price, or two have prices in different currencies. */
export function costOfProviders(providers: ReportedProviders): Money | null {
  const paid = Object.values(providers).filter(({ credits, cost }) => credits > 0 || cost !== undefined);
  const costs = paid.flatMap(({ cost }) => (cost === undefined ? [] : [cost]));
  const [first] = costs;
  if (first === undefined || costs.length < paid.length || costs.some(({ currency }) => currency !== first.currency)) return null;
  return {
    amount: rounded(
      costs.reduce((sum, { amount }) => sum + amount, 0),
      100,
    ),
    currency: first.currency,
  };
}

/** The steps of all providers in the order in which they are asked: by step, then by place. */
export function inAskedOrder(
  providers: ReportedProviders,
  steps: readonly string[],
): readonly { readonly step: Step; readonly name: string; readonly provider: ReportedProvider; readonly figures: ProviderStep }[] {
  return steps.flatMap((step) =>
    Object.entries(providers)
      .flatMap(([name, provider]) => {
        const figures = provider.steps[step as Step];
        return figures === undefined ? [] : [{ step: step, name, provider, figures }];
      })
      .sort((one, other) => one.figures.place - other.figures.place),
  );
}

function figuresOf(
  { name, definition, baseUrl, plan, creditPrice: price }: JobProvider,
  { totals, skipped }: ProviderState,
  waterfalls: CompiledJob['waterfalls'],
  tally: ProviderTally,
): ReportedProvider {
  const latency = new LatencyHistogram(totals.latency);
  const { calls, retries, throttled, creditsBy = {} } = totals;
  const taken = takenCredits(definition, totals);
  const credits = exact(totals.credits + sumOf(taken));
  const asking = (Object.keys(waterfalls) as Step[]).filter((step) => waterfalls[step]?.from.includes(name) === true);
  return {
    definition: definition.name,
    url: baseUrl,
    plan,
    calls,
    credits,
    ...(isAtLeast(definition, totals) ? { creditsAtLeast: credits } : {}),
    ...(price === null ? {} : { cost: costOf(credits, price) }),
    retries,
    throttled,
    latencyMs: { p50: latency.percentile(0.5), p95: latency.percentile(0.95), p99: latency.percentile(0.99) },
    skipped,
    steps: Object.fromEntries(
      asking.map((step) => [
        step,
        stepOf(
          tally[step]?.[name] ?? NO_COUNTS,
          (waterfalls[step]?.from.indexOf(name) ?? 0) + 1,
          exact((creditsBy[step] ?? 0) + (taken[step] ?? 0)),
          price,
        ),
      ]),
    ),
  };
}

/** Credits that a provider took with requests whose answers are still to come or were lost, by step. An answer would correct them. */
function takenCredits({ operations }: JobProvider['definition'], { promised = {} }: RunTotals): Readonly<Record<string, number>> {
  const atSubmit = Object.entries(promised).flatMap(([step, counts]) => {
    const operation = operations[step as Step];
    return operation?.creditsAt === 'submit' ? [[step, reservedCredits([[step, counts]], () => operation.creditsAtMost)]] : [];
  });
  return Object.fromEntries(atSubmit) as Record<string, number>;
}

/** The same of all providers of a job. */
export function allTakenCredits(
  { providers }: Pick<CompiledJob, 'providers'>,
  { providers: states = {} }: Pick<Checkpoint, 'providers'>,
): number {
  return sumOf(providers.map(({ name, definition }) => sumOf(takenCredits(definition, (states[name] ?? NEW_PROVIDER).totals))));
}

function sumOf(credits: Readonly<Record<string, number>> | readonly number[]): number {
  return Object.values(credits).reduce((sum, one) => sum + one, 0);
}

/** Whether promised answers may still cost something, or lost ones have cost something. */
function isAtLeast({ operations }: JobProvider['definition'], { promised = {}, creditsLost = 0 }: RunTotals): boolean {
  return creditsLost > 0 || reservedCredits(Object.entries(promised), (step) => operations[step as Step]?.creditsAtMost ?? 1) > 0;
}

function stepOf(counts: ProviderCounts, place: number, credits: number, price: CreditPrice | null): ProviderStep {
  const { matched, missed, rows } = counts;
  const each = rows === 0 ? null : credits / rows;
  const eachInMoney =
    price === null || each === null ? null : { amount: rounded(each * price.perCredit, 10_000), currency: price.currency };
  return {
    ...counts,
    place,
    matchRate: matched + missed === 0 ? null : rounded(matched / (matched + missed), 10_000),
    credits,
    ...(price === null ? {} : { cost: costOf(credits, price) }),
    creditsPerRow: each === null ? null : rounded(each, 10_000),
    ...(price === null ? {} : { costPerRow: eachInMoney }),
  };
}

function rounded(n: number, parts: number): number {
  return Math.round(n * parts) / parts;
}
