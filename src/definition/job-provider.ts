/** The variable, the quotas and the channels of a job's provider. Pure. */
import type { OperationName, ProviderPoll, ProviderQuota, QuotaWindow } from '../providers/compiled-provider.ts';
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

/** How late answers to this operation are asked for, in requests of the size that the job sends; null where answers come at once. */
export function pollOf(provider: Pick<JobProvider, 'definition'>, operation: OperationName): ProviderPoll | null {
  const own = provider.definition.operations[operation];
  return (usesBatches(provider, operation) ? own?.batch?.poll : own?.poll) ?? null;
}

/** The same in every job: which part of a definition states a quota. Empty for the provider's own. */
export function quotaName({ definition }: Pick<JobProvider, 'definition'>, quota: ProviderQuota): string {
  if (quota === definition.quota) return '';
  const [name] = Object.entries(definition.operations).flatMap(([operation, { quota: own, batch, poll }]) => {
    if (quota === own) return [operation];
    if (quota === poll?.quota || quota === batch?.poll?.quota) return [`${operation}, polls`];
    return quota === batch?.quota ? [`${operation} in batches`] : [];
  });
  return name ?? '';
}

/** The windows of a quota under the provider's plan. */
export function windowsOf({ plan, windows }: Pick<JobProvider, 'plan' | 'windows'>, quota: ProviderQuota): readonly QuotaWindow[] {
  return windows ?? (plan === null ? undefined : quota.plans[plan]) ?? [];
}

/** The pace that a quota sets. */
export interface Pace {
  /** Requests a minute; null is unlimited. */
  readonly rpm: number | null;
  /** Windows beside the minute. */
  readonly windows: readonly QuotaWindow[];
  /** Pods share `rpm`. */
  readonly isShared: boolean;
}

/** The pace of the calls that go by this quota of a provider. */
export function paceOf(provider: Pick<JobProvider, 'plan' | 'windows' | 'quota'>, quota: ProviderQuota): Pace {
  const windows = windowsOf(provider, quota);
  const minute = windows.find(({ periodMs }) => periodMs === PERIODS_MS.minute);
  return { rpm: minute?.limit ?? null, windows: windows.filter((window) => window !== minute), isShared: provider.quota !== null };
}

/** The one service of a job in the simple form; null for a job that names its providers. */
export function serviceOf({ namesProviders, providers: [first] }: Pick<CompiledJob, 'namesProviders' | 'providers'>): JobProvider | null {
  return namesProviders ? null : (first ?? null);
}

/** The pace of the one service. Named providers have a pace each, and the run as a whole has none. */
export function servicePace(job: Pick<CompiledJob, 'namesProviders' | 'providers'>): Pace {
  const service = serviceOf(job);
  return service === null ? { rpm: null, windows: [], isShared: false } : paceOf(service, service.definition.quota);
}

/** Operations that one quota counts. */
interface QuotaChannel {
  readonly quota: ProviderQuota;
  readonly steps: readonly OperationName[];
}

/** The operations of a provider that a job uses, by the quota that counts them. `polls`: the same for polls that are counted apart. */
export function providerChannels(
  provider: JobProvider,
  { steps, waterfalls }: Pick<CompiledJob, 'steps' | 'waterfalls'>,
): readonly (QuotaChannel & { readonly polls: readonly QuotaChannel[] })[] {
  const byQuota = new Map<ProviderQuota, OperationName[]>();
  for (const step of steps) {
    if (waterfalls[step]?.from.includes(provider.name) !== true) continue;
    const quota = quotaOf(provider, step);
    byQuota.set(quota, [...(byQuota.get(quota) ?? []), step]);
  }
  return [...byQuota].map(([quota, counted]) => {
    const polls = Map.groupBy(counted, (step) => pollOf(provider, step)?.quota ?? null);
    const apart = [...polls].flatMap(([own, some]) => (own === null ? [] : [{ quota: own, steps: some }]));
    return { quota, steps: counted, polls: apart };
  });
}
