/** How a job reaches whom it asks: its one service, or the providers that it names. */
import { RotatingKey } from '../client/rotating-key.ts';
import type { CompiledJob } from '../definition/compiled-job.ts';
import type { RunContext } from '../job/run/pipeline.ts';
import { openProviders, providerKeys } from './provider-access.ts';
import { apiKeyFor, openService } from './service-access.ts';

interface JobKeys {
  /** Null for an embedded service, and for a job that names its providers. */
  readonly service: RotatingKey | null;
  readonly providers: Awaited<ReturnType<typeof providerKeys>>;
}

interface JobAccess {
  readonly context: Pick<RunContext, 'service' | 'providers'>;
  close(): Promise<void>;
}

/** @param warn is called when the environment names two keys, or keys that the job does not use. @throws ConfigError without a key */
export async function readKeys(job: CompiledJob, env: NodeJS.ProcessEnv, warn: (text: string) => void): Promise<JobKeys> {
  if (job.providers.length > 0) return { service: null, providers: await providerKeys(job, env, warn) };
  return { service: await apiKeyFor(job.service, env, warn), providers: new Map() };
}

export async function openAccess(job: CompiledJob, keys: JobKeys): Promise<JobAccess> {
  if (job.providers.length === 0) {
    const service = await openService(job.service, keys.service);
    return { context: { service }, close: () => service.close() };
  }
  const opened = await openProviders(job, keys.providers);
  const service = { baseUrl: '', apiKey: new RotatingKey(null) };
  return { context: { service, providers: opened.access }, close: () => opened.close() };
}
