/** The quotas of a definition: windows in milliseconds, names of headers in lower case. Pure. */
import { didYouMean, nearest } from '../../util/nearest.ts';
import { PERIODS_MS } from '../../util/periods.ts';
import type { ProviderQuota, QuotaHeaders, QuotaWindow } from '../compiled-provider.ts';
import { refusalAt } from './definition-file.ts';
import type { RawQuota } from './schema.ts';
import type { Source } from './source.ts';

/** @throws ConfigError for a period that is stated twice, and for headers that state nothing */
export function compileQuota(source: Source, key: string, raw: RawQuota): ProviderQuota {
  const plans = Object.entries(raw.plans ?? {}).map(([plan, windows]) => [plan, compileWindows(source, `${key}.plans.${plan}`, windows)]);
  return {
    plans: Object.fromEntries(plans) as ProviderQuota['plans'],
    headers: raw.headers?.map((one, index) => compileHeaders(source, `${key}.headers[${index}]`, one)) ?? null,
  };
}

/** The quota of an operation or a batch. @throws ConfigError for a plan that the provider lacks */
export function compileOwnQuota(source: Source, key: string, raw: RawQuota | undefined): ProviderQuota | null {
  if (raw === undefined) return null;
  const known = Object.keys(source.raw.quota?.plans ?? {});
  for (const plan of Object.keys(raw.plans ?? {})) {
    if (known.includes(plan)) continue;
    throw refusalAt(
      source.definition,
      `${key}.plans.${plan}`,
      'unknown_plan',
      `${key}.plans has a plan ${plan}, which quota.plans lacks${didYouMean(nearest(plan, known))}`,
      known.length === 0 ? 'List the plans of the provider under quota.plans.' : `Its plans: ${known.join(', ')}.`,
    );
  }
  return compileQuota(source, key, raw);
}

function compileWindows({ definition }: Source, key: string, windows: readonly string[]): QuotaWindow[] {
  const periods = new Set<string>();
  return windows.map((text, index) => {
    const [limit, period = ''] = text.split('/');
    if (periods.has(period)) throw refusalAt(definition, `${key}[${index}]`, 'bad_value', `${key} states the window of a ${period} twice`);
    periods.add(period);
    return { limit: Number(limit), periodMs: PERIODS_MS[period as keyof typeof PERIODS_MS] };
  });
}

function compileHeaders({ definition }: Source, key: string, raw: NonNullable<RawQuota['headers']>[number]): QuotaHeaders {
  if ((raw.window === undefined) === (raw.json === undefined))
    throw refusalAt(
      definition,
      key,
      'bad_value',
      `${key} needs either window or json: true`,
      'json: true is for headers that hold JSON by period.',
    );
  if (raw.limit === undefined && raw.remaining === undefined && raw.used === undefined)
    throw refusalAt(definition, key, 'bad_value', `${key} names no header: give limit, remaining or used`);
  const lower = (name: string | undefined): string | null => name?.toLowerCase() ?? null;
  return {
    periodMs: raw.window === undefined ? null : PERIODS_MS[raw.window],
    limit: lower(raw.limit),
    remaining: lower(raw.remaining),
    used: lower(raw.used),
    reset: lower(raw.reset),
    resetUnit: raw.resetUnit,
  };
}
