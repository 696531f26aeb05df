/** Where the ledger keeps the answers of a provider. */
import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import type { CompiledJob, JobProvider } from '../../definition/compiled-job.ts';
import { declaredScopes, lookupScopes, type LookupScopes } from '../../processor/scopes.ts';
import { ledgerOrigin } from './service-origin.ts';

/** @param scopeOf the number of a scope in the ledger */
export function providerScopes(
  provider: Pick<JobProvider, 'baseUrl' | 'definition' | 'domainField'>,
  job: Pick<CompiledJob, 'options'>,
  checkpoint: Pick<Checkpoint, 'ledgerKey'>,
  scopeOf: (origin: string, step: string, options: string) => number,
): LookupScopes {
  const origin = ledgerOrigin(provider.baseUrl, checkpoint);
  const own = (step: string, options: string): number => scopeOf(origin, step, options);
  const { definition, domainField } = provider;
  return definition.client === 'built-in' ? lookupScopes(own, domainField, job.options) : declaredScopes(own, definition, job.options);
}
