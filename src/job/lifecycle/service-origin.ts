import type { CompiledJob } from '../../definition/compiled-job.ts';

/** The service's origin, under which the ledger stores answers. The embedded service has one name, because its port changes. */
export function serviceOrigin(job: Pick<CompiledJob, 'service'>): string {
  return job.service.baseUrl === null ? 'embedded' : new URL(job.service.baseUrl).origin;
}
