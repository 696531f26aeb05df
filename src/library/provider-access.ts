/** How a job's providers are reached: the address and the API key of each. */
import { API_KEY, keyFileReader, readApiKey } from '../client/api-key.ts';
import { RotatingKey } from '../client/rotating-key.ts';
import { keyVariable, serviceSettings } from '../definition/job-provider.ts';
import type { CompiledJob, JobProvider } from '../definition/compiled-job.ts';
import type { ServiceAccess } from '../job/run/open-calls.ts';
import { ConfigError } from '../util/errors.ts';
import { nearest } from '../util/nearest.ts';
import { openService } from './service-access.ts';

/** The keys of a job's providers; null for one that is embedded. */
type ProviderKeys = ReadonlyMap<string, RotatingKey | null>;

export interface OpenProviders {
  /** By the job's names; empty for a job with one service. */
  readonly access: ReadonlyMap<string, ServiceAccess>;
  close(): Promise<void>;
}

const KEY_VARIABLE = /^MILLRACE_([A-Z0-9_]+)_API_KEY(?:_FILE)?$/;

/**
 * The API key of each provider, from `MILLRACE_<NAME>_API_KEY` or the file that `MILLRACE_<NAME>_API_KEY_FILE` names. The specification's
 * service also takes `MILLRACE_API_KEY`.
 * @param warn is called for keys of providers that the job does not name
 * @throws ConfigError without a key
 */
export async function providerKeys(
  { providers }: Pick<CompiledJob, 'providers'>,
  env: NodeJS.ProcessEnv,
  warn: (text: string) => void,
): Promise<ProviderKeys> {
  const keys = new Map<string, RotatingKey | null>();
  for (const provider of providers) keys.set(provider.name, await keyOf(provider, env));
  if (providers.length === 0) return keys;
  const wanted = new Set(providers.map(({ name }) => keyVariable(name)));
  for (const variable of Object.keys(env).sort()) {
    const name = KEY_VARIABLE.exec(variable)?.[1];
    if (name !== undefined && env[variable] && !wanted.has(`MILLRACE_${name}_API_KEY`))
      warn(`${variable} is not used: this job asks no provider ${name.toLowerCase().replaceAll('_', '-')}`);
  }
  return keys;
}

async function keyOf({ name, definition, embedded }: JobProvider, env: NodeJS.ProcessEnv): Promise<RotatingKey | null> {
  if (embedded) return null;
  const variables = [keyVariable(name), ...(definition.client === 'built-in' ? [API_KEY] : [])];
  for (const variable of variables) {
    const key = await readApiKey(env, variable);
    if (key !== null) return new RotatingKey(key, { readAgain: keyFileReader(env, variable) });
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

/** Opens the way to each provider. An embedded one is a service inside this process. */
export async function openProviders({ providers }: Pick<CompiledJob, 'providers'>, keys: ProviderKeys): Promise<OpenProviders> {
  const opened: { readonly name: string; readonly service: Awaited<ReturnType<typeof openService>> }[] = [];
  const close = async (): Promise<void> => {
    for (const { service } of opened) await service.close();
  };
  try {
    for (const provider of providers) {
      const settings = serviceSettings(provider, provider.definition.quota);
      opened.push({ name: provider.name, service: await openService(settings, keys.get(provider.name) ?? null) });
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { access: new Map(opened.map(({ name, service }) => [name, service])), close };
}
