/** Shared by commands that call the service: reads job and key, listens to signals, and starts an embedded service. */
import { randomBytes } from 'node:crypto';
import { keyFileReader, readApiKey } from '../client/api-key.ts';
import { RotatingKey } from '../client/rotating-key.ts';
import { ConfigError } from '../util/errors.ts';
import type { ExitCode } from '../util/errors.ts';
import type { ServiceAccess } from '../job/run/open-calls.ts';
import type { CommandContext } from '../job/commands/run-command.ts';
import type { CompiledJob, RunOptions } from '../definition/compiled-job.ts';
import type { Invocation } from './invocation.ts';
import { readWebhookSecret } from '../job/notify/webhook-secret.ts';
import { commandLine } from './command-line.ts';
import { readJob } from './read-job.ts';
import { withStopSignals } from './signals.ts';

export interface Service extends ServiceAccess {
  close(): Promise<void>;
}

type Work = (job: CompiledJob, options: RunOptions, context: CommandContext) => Promise<ExitCode>;

/** Does the command's work with its job and a service; resolves with the exit code. `load` is called once the key is known. */
export async function withService(command: 'run' | 'retry', invocation: Invocation, load: () => Promise<Work>): Promise<ExitCode> {
  return withStopSignals(async (signals) => {
    const { job, options } = await readJob(command, invocation);
    // The key first: without one there is no reason to load the rest.
    const apiKey = await apiKeyFor(job.service, invocation.env);
    const webhookSecret = await readWebhookSecret(job, invocation.env);
    const work = await load();
    const service = await openService(job.service, apiKey);
    try {
      return await work(job, options, { service, signals, command: commandLine(command, invocation), webhookSecret, env: invocation.env });
    } finally {
      await service.close();
    }
  });
}

/** The API key; null for an embedded service, which makes its own key. @throws ConfigError without a key */
export async function apiKeyFor({ embedded }: CompiledJob['service'], env: NodeJS.ProcessEnv): Promise<RotatingKey | null> {
  if (embedded) return null;
  const key = await readApiKey(env);
  if (env['MILLRACE_API_KEY']?.trim() && env['MILLRACE_API_KEY_FILE'])
    process.stderr.write('millrace: MILLRACE_API_KEY and MILLRACE_API_KEY_FILE are both set: the key is that of MILLRACE_API_KEY\n');
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
