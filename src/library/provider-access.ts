/** How a job reaches its providers: the API key of each, and its address, or a service inside this process. */
import { randomBytes } from 'node:crypto';
import { API_KEY, keyFileReader, readApiKey } from '../client/api-key.ts';
import { RotatingKey } from '../client/rotating-key.ts';
import type { CompiledJob, JobProvider } from '../definition/compiled-job.ts';
import { keyVariable, paceOf } from '../definition/job-provider.ts';
import type { ServiceAccess } from '../job/run/open-calls.ts';
import { ConfigError } from '../util/errors.ts';
import { nearest } from '../util/nearest.ts';

/** By the names of the job's providers; null for one that is embedded, which makes its own key. */
type ProviderKeys = ReadonlyMap<string, RotatingKey | null>;

interface OpenProvider extends ServiceAccess {
  close(): Promise<void>;
}

const KEY_VARIABLE = /^MILLRACE_([A-Z0-9_]+)_API_KEY(?:_FILE)?$/;

/**
 * The API key of each provider: that of a named one from `MILLRACE_<NAME>_API_KEY` or the file that `MILLRACE_<NAME>_API_KEY_FILE` names.
 * The specification's service also takes `MILLRACE_API_KEY`, and the simple form of a job takes nothing else.
 * @param warn is called when the environment names two keys. @param detail reports keys of other providers, which the job does not use
 * @throws ConfigError without a key
 */
export async function readKeys(
  { providers, namesProviders }: Pick<CompiledJob, 'providers' | 'namesProviders'>,
  env: NodeJS.ProcessEnv,
  warn: (text: string) => void,
  detail: (text: string) => void = () => undefined,
): Promise<ProviderKeys> {
  const keys = new Map<string, RotatingKey | null>();
  for (const provider of providers)
    keys.set(provider.name, await (namesProviders ? namedKey(provider, env) : serviceKey(provider, env, warn)));
  if (!namesProviders) return keys;
  const wanted = new Set(providers.map(({ name }) => keyVariable(name)));
  const idle = Object.keys(env).filter((variable) => {
    const name = KEY_VARIABLE.exec(variable)?.[1];
    return name !== undefined && env[variable] && !wanted.has(`MILLRACE_${name}_API_KEY`);
  });
  if (idle.length > 0) detail(`keys of providers that this job does not ask: ${idle.sort().join(', ')}`);
  return keys;
}

/** The key of the one service of a job, or of a command. @throws ConfigError without one */
export async function serviceKey(
  { embedded }: Pick<JobProvider, 'embedded'>,
  env: NodeJS.ProcessEnv,
  warn: (text: string) => void,
): Promise<RotatingKey | null> {
  if (embedded) return null;
  const key = await keyIn(env, API_KEY);
  if (env[API_KEY]?.trim() && env[`${API_KEY}_FILE`])
    warn('MILLRACE_API_KEY and MILLRACE_API_KEY_FILE are both set: the key is that of MILLRACE_API_KEY');
  if (key !== null) return key;
  throw new ConfigError('no_api_key', 'There is no API key', {
    hint: 'Set MILLRACE_API_KEY, or MILLRACE_API_KEY_FILE to the path of a file that holds it. `--embedded` tries things out without one.',
  });
}

async function namedKey({ name, definition, embedded }: JobProvider, env: NodeJS.ProcessEnv): Promise<RotatingKey | null> {
  if (embedded) return null;
  const variables = [keyVariable(name), ...(definition.client === 'built-in' ? [API_KEY] : [])];
  for (const variable of variables) {
    const key = await keyIn(env, variable);
    if (key !== null) return key;
  }
  if (definition.authentication === null) return new RotatingKey(null);
  const [variable = ''] = variables;
  const near = nearest(
    variable,
    Object.keys(env).filter((one) => KEY_VARIABLE.test(one)),
  );
  throw new ConfigError('no_api_key', `There is no API key for the provider ${name}${near === null ? '' : `; ${near} is set`}`, {
    hint: `Set ${variables.join(' or ')}, or ${variable}_FILE to the path of a file that holds it.`,
  });
}

async function keyIn(env: NodeJS.ProcessEnv, variable: string): Promise<RotatingKey | null> {
  const key = await readApiKey(env, variable);
  return key === null ? null : new RotatingKey(key, { readAgain: keyFileReader(env, variable) });
}

/** Opens the way to each provider of a job. */
export async function openAccess(
  { providers }: Pick<CompiledJob, 'providers'>,
  keys: ProviderKeys,
): Promise<{ readonly access: ReadonlyMap<string, ServiceAccess>; readonly close: () => Promise<void> }> {
  const access = new Map<string, OpenProvider>();
  const close = async (): Promise<void> => {
    for (const provider of access.values()) await provider.close();
  };
  try {
    for (const provider of providers) access.set(provider.name, await openProvider(provider, keys.get(provider.name) ?? null));
  } catch (error) {
    await close();
    throw error;
  }
  return { access, close };
}

/** The provider's address with this key; without one a service inside this process. */
export async function openProvider(provider: JobProvider, apiKey: RotatingKey | null): Promise<OpenProvider> {
  if (apiKey === null) return startEmbedded(paceOf(provider, provider.definition.quota).rpm);
  return { baseUrl: provider.baseUrl ?? '', apiKey, close: async () => {} };
}

/**
 * The sample service on a free port of the loopback interface, with a random key: the run is its only client, so the service limits no
 * connections.
 */
async function startEmbedded(rpm: number | null): Promise<OpenProvider> {
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
