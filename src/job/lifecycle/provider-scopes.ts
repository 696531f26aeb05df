/** Where the ledger keeps the answers of a provider that a job names. */
import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import type { CompiledJob, JobProvider } from '../../definition/compiled-job.ts';
import { declaredScopes, lookupScopes, type LookupScopes } from '../../processor/scopes.ts';
import { ledgerOrigin } from './service-origin.ts';

/** @param scopeOf the number of a scope in the ledger */
export function providerScopes(
  provider: Pick<JobProvider, 'baseUrl' | 'definition'>,
  job: Pick<CompiledJob, 'enrich' | 'reveal'>,
  checkpoint: Pick<Checkpoint, 'ledgerKey'>,
  scopeOf: (origin: string, step: string, options: string) => number,
): LookupScopes {
  const origin = ledgerOrigin(provider.baseUrl, checkpoint);
  const own = (step: string, options: string): number => scopeOf(origin, step, options);
  return provider.definition.client === 'built-in' ? lookupScopes(own, 'domain', job) : declaredScopes(own, provider.definition, job);
}
