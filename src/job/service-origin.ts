import type { CompiledJob } from './types.ts';

/** What ledger entries are filed under: the service's origin; the embedded service, whose port changes, has one name. */
export function serviceOrigin(job: Pick<CompiledJob, 'service'>): string {
  return job.service.baseUrl === null ? 'embedded' : new URL(job.service.baseUrl).origin;
}
