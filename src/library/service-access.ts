/** The API key of a job, and the service that it calls: the configured one, or one inside this process. */
import { randomBytes } from 'node:crypto';
import { keyFileReader, readApiKey } from '../client/api-key.ts';
import { RotatingKey } from '../client/rotating-key.ts';
import type { CompiledJob } from '../definition/compiled-job.ts';
import type { ServiceAccess } from '../job/run/open-calls.ts';
import { ConfigError } from '../util/errors.ts';

export interface Service extends ServiceAccess {
  close(): Promise<void>;
}

/**
 * The API key; null for an embedded service, which makes its own key.
 * @param warn is called when the environment names two keys
 * @throws ConfigError without a key
 */
export async function apiKeyFor(
  { embedded }: CompiledJob['service'],
  env: NodeJS.ProcessEnv,
  warn: (text: string) => void,
): Promise<RotatingKey | null> {
  if (embedded) return null;
  const key = await readApiKey(env);
  if (env['MILLRACE_API_KEY']?.trim() && env['MILLRACE_API_KEY_FILE'])
    warn('MILLRACE_API_KEY and MILLRACE_API_KEY_FILE are both set: the key is that of MILLRACE_API_KEY');
  if (key !== null) return new RotatingKey(key, { readAgain: keyFileReader(env) });
  throw new ConfigError('no_api_key', 'There is no API key', {
    hint: 'Set MILLRACE_API_KEY, or MILLRACE_API_KEY_FILE to the path of a file that holds it. `--embedded` tries things out without one.',
  });
}

/** Opens the service: the configured one with `apiKey`, else one inside this process. */
export async function openService(service: CompiledJob['service'], apiKey: RotatingKey | null): Promise<Service> {
  return apiKey === null ? startEmbedded(service.rpm) : { baseUrl: service.baseUrl ?? '', apiKey, close: async () => {} };
}

/**
 * The sample service on a free port of the loopback interface, with a random key: the run is its only client, so the service limits no
 * connections.
 */
async function startEmbedded(rpm: number | null): Promise<Service> {
  const { startService, claimSampleStore } = await import('../service/app/start-service.ts');
  const key = randomBytes(24).toString('base64url');
  const service = await startService({
    store: await claimSampleStore(),
    sample: true,
    development: true,
    embeddedKey: { key, rpm },
    limits: { inFlight: Infinity, lineMs: Infinity },
  });
  return { baseUrl: service.url, apiKey: new RotatingKey(key), close: () => service.close() };
}
