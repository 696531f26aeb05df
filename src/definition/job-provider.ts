/** The variable, the quotas and the channels of a job's provider. Pure. */
import type { OperationName, ProviderQuota, QuotaWindow } from '../providers/compiled-provider.ts';
import { PERIODS_MS } from '../util/periods.ts';
import type { CompiledJob, JobProvider } from './compiled-job.ts';

/** The name of the variable with a provider's API key; with `_FILE` after it, of the file that holds it. */
export function keyVariable(name: string): string {
  return `MILLRACE_${name.toUpperCase().replaceAll('-', '_')}_API_KEY`;
}

/** Whether requests of this operation carry several lookups. */
export function usesBatches({ definition }: Pick<JobProvider, 'definition'>, operation: OperationName): boolean {
  return (definition.operations[operation]?.batch?.size ?? 1) > 1;
}

/**
 * The quota that an operation is counted against. Operations with the same quota share one limiter: the result is the same object for them.
 */
export function quotaOf(provider: Pick<JobProvider, 'definition'>, operation: OperationName): ProviderQuota {
  const { definition } = provider;
  const own = definition.operations[operation];
  return (usesBatches(provider, operation) ? own?.batch?.quota : null) ?? own?.quota ?? definition.quota;
}

/** The windows of a quota under the provider's plan. */
export function windowsOf({ plan, windows }: Pick<JobProvider, 'plan' | 'windows'>, quota: ProviderQuota): readonly QuotaWindow[] {
  return windows ?? (plan === null ? undefined : quota.plans[plan]) ?? [];
}

/** A provider's settings in the form that a job's one service has, for the calls that go by this quota. */
export function serviceSettings(provider: JobProvider, quota: ProviderQuota): CompiledJob['service'] {
  const windows = windowsOf(provider, quota);
  const { baseUrl, embedded, concurrency, timeoutMs, creditPrice } = provider;
  return {
    baseUrl,
    embedded,
    rpm: windows.find(({ periodMs }) => periodMs === PERIODS_MS.minute)?.limit ?? null,
    plan: null,
    concurrency,
    timeoutMs,
    windows: windows.filter(({ periodMs }) => periodMs !== PERIODS_MS.minute),
    quota: null,
    creditPrice,
    domainField: 'domain',
  };
}

/** The operations of a provider that a job uses, by the quota that counts them. */
export function providerChannels(
  provider: JobProvider,
  { steps, waterfalls }: Pick<CompiledJob, 'steps' | 'waterfalls'>,
): readonly { readonly quota: ProviderQuota; readonly steps: readonly OperationName[] }[] {
  const byQuota = new Map<ProviderQuota, OperationName[]>();
  for (const step of steps) {
    if (waterfalls[step]?.from.includes(provider.name) !== true) continue;
    const quota = quotaOf(provider, step);
    byQuota.set(quota, [...(byQuota.get(quota) ?? []), step]);
  }
  return [...byQuota].map(([quota, counted]) => ({ quota, steps: counted }));
}
