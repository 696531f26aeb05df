/** Where the ledger keeps the answers of a provider that a job names. */
import type { CompiledJob } from '../../definition/compiled-job.ts';
import type { JobProvider } from '../../definition/job-provider.ts';
import { declaredScopes, lookupScopes, type LookupScopes } from '../../processor/scopes.ts';
import { serviceOrigin } from './service-origin.ts';

export function providerOrigin({ baseUrl }: Pick<JobProvider, 'baseUrl'>, { service }: Pick<CompiledJob, 'service'>): string {
  return serviceOrigin({ service: { ...service, baseUrl } });
}

/** @param scopeOf the number of a scope in the ledger */
export function providerScopes(
  provider: Pick<JobProvider, 'baseUrl' | 'definition'>,
  job: Pick<CompiledJob, 'service' | 'enrich' | 'reveal'>,
  scopeOf: (origin: string, step: string, options: string) => number,
): LookupScopes {
  const own = (step: string, options: string): number => scopeOf(providerOrigin(provider, job), step, options);
  return provider.definition.client === 'built-in' ? lookupScopes(own, 'domain', job) : declaredScopes(own, provider.definition, job);
}
