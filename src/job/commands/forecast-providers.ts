/** The part of a plan about the providers that a job names. */
import { ownRpm, ownWindows } from '../shards/shard-job.ts';
import type { JobProvider } from '../../definition/compiled-job.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import type { Money } from '../../definition/credit-price.ts';
import { providerChannels, paceOf } from '../../definition/job-provider.ts';
import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import { ledgerOrigin } from '../lifecycle/service-origin.ts';
import { matchRatesBy, type CreditForecast } from './plan-credits.ts';
import { orderForecast, type OrderForecast } from './plan-order.ts';
import { providerForecast, ratesFor, sumOf, type ProviderForecast } from './plan-providers.ts';
import type { PlanCounts, PlanRequests } from './plan-counts.ts';
import { planTimes, type PlanTimes } from './plan-times.ts';
import { eachStep, type Step, type ByStep } from '../../steps/registry.ts';

export interface ProvidersForecast {
  /** By the job's names, in its order. */
  readonly providers: Readonly<Record<string, ProviderForecast>>;
  /** By step. A step has none where it asks one provider, or has no lookup to pay for. */
  readonly orders: ByStep<OrderForecast>;
  /** At most, over all providers. */
  readonly requests: PlanRequests;
  /** At least, over all providers. */
  readonly polls: number;
  readonly credits: CreditForecast;
  /** The times of the slowest provider: all are asked at the same time. */
  readonly times: PlanTimes;
}

/**
 * @param counts empty for a finished job
 * @param stated the match rate that the user states for all (0 to 1); null: by the ledger
 * @throws MillraceError when the ledger cannot be read
 */
export async function forecastProviders(
  job: CompiledJob,
  checkpoint: Pick<Checkpoint, 'ledgerKey' | 'shard'>,
  counts: PlanCounts,
  stated: number | null,
): Promise<ProvidersForecast> {
  const origins = new Map(job.providers.map((provider) => [provider.name, ledgerOrigin(provider.baseUrl, checkpoint)]));
  const byOrigin = stated === null && job.ledger.uri !== '' ? await matchRatesBy(job, [...new Set(origins.values())]) : new Map();
  const ofLedger = new Map([...origins].map(([name, origin]) => [name, byOrigin.get(origin) ?? {}]));
  const rates = ratesFor(job, counts, ofLedger, stated);
  const forecasts = job.providers.map((provider): [string, ProviderForecast] => [
    provider.name,
    providerForecast(provider, job, counts, rates, (requests) => timesOf(provider, job, checkpoint, requests)),
  ]);
  const all = forecasts.map(([, one]) => one);
  const orders: Record<string, OrderForecast> = {};
  for (const step of job.steps) {
    const asked = (job.waterfalls[step]?.from ?? []).flatMap((name) => job.providers.filter((one) => one.name === name));
    const order = orderForecast(step, asked, counts[step] ?? { records: [] }, rates);
    if (order !== null) orders[step] = order;
  }
  const credits = sumOf(all.map((one) => one.credits));
  const requestsOf = (step: Step): number => all.reduce((sum, { steps }) => sum + (steps[step]?.requests.atMost ?? 0), 0);
  const own = Object.fromEntries(job.ownSteps.map(({ name }) => [name, requestsOf(name)]));
  const requests = { ...eachStep(({ name }) => requestsOf(name)), ...own };
  return {
    providers: Object.fromEntries(forecasts),
    orders,
    requests: { ...requests, total: Object.values(requests).reduce((sum, count) => sum + count, 0) },
    polls: all.reduce((sum, { polls = 0 }) => sum + polls, 0),
    credits: {
      ...credits,
      // Each provider has its own.
      matchRates: {},
      from: stated !== null ? 'stated' : Object.values(rates).some((places) => places.some((rate) => rate !== null)) ? 'ledger' : null,
      cost: costOfAll(all),
    },
    times: longest(all),
  };
}

/** Operations with the same quota are counted together; those with another one run beside them. */
function timesOf(provider: JobProvider, job: CompiledJob, checkpoint: Pick<Checkpoint, 'shard'>, requests: ByStep<number>): PlanTimes {
  return longest(
    providerChannels(provider, job).map(({ quota, steps }) => {
      const pace = paceOf(provider, quota);
      return planTimes(
        steps.reduce((sum, step) => sum + (requests[step] ?? 0), 0),
        ownRpm(pace, checkpoint),
        checkpoint.shard === null || pace.isShared,
        ownWindows(pace, checkpoint),
      );
    }),
  );
}

function longest(all: readonly PlanTimes[]): PlanTimes {
  const most = (of: (times: PlanTimes) => number | null): number | null => {
    const known = all.flatMap((times) => of(times) ?? []);
    return known.length === 0 ? null : Math.max(...known);
  };
  return { seconds: most(({ seconds }) => seconds), secondsWithBurst: most(({ secondsWithBurst }) => secondsWithBurst) };
}

/** Null unless every provider that costs credits has a price, all in one currency. */
function costOfAll(all: readonly ProviderForecast[]): Money | null {
  const paid = all.filter(({ credits }) => credits.atMost > 0);
  const costs = paid.flatMap(({ cost }) => cost ?? []);
  const [first] = costs;
  if (first === undefined || costs.length < paid.length || costs.some(({ currency }) => currency !== first.currency)) return null;
  return { amount: Math.round(costs.reduce((sum, { amount }) => sum + amount, 0) * 100) / 100, currency: first.currency };
}
