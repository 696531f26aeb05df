/** What commands that call the service have in common: the job, the key, the signals, and a service inside the run. */
import { randomBytes } from 'node:crypto';
import { keyFileReader, readApiKey } from '../client/api-key.ts';
import { RotatingKey } from '../client/rotating-key.ts';
import { ConfigError } from '../errors.ts';
import type { ExitCode } from '../errors.ts';
import type { RunContext } from '../job/run-command.ts';
import type { CompiledJob, RunOptions } from '../job/types.ts';
import type { Invocation } from './invocation.ts';
import { readJob } from './read-job.ts';
import { withStopSignals } from './signals.ts';

export interface Service {
  readonly baseUrl: string;
  readonly apiKey: RotatingKey;
  close(): Promise<void>;
}

type Work = (job: CompiledJob, options: RunOptions, context: RunContext) => Promise<ExitCode>;

/** Does the command's work with its job and a service; resolves with the exit code. `load` is called once there is a key. */
export async function withService(command: 'run' | 'retry', invocation: Invocation, load: () => Promise<Work>): Promise<ExitCode> {
  return withStopSignals(async ({ drain, abort }) => {
    const { job, options } = await readJob(command, invocation);
    // The key first: without one there is no reason to load the rest.
    const apiKey = await apiKeyFor(job.service, invocation.env);
    const work = await load();
    const service = await openService(job.service, apiKey);
    try {
      return await work(job, options, { baseUrl: service.baseUrl, apiKey: service.apiKey, drain, abort });
    } finally {
      await service.close();
    }
  });
}

/** Null: the service is embedded, and gets a key of its own. @throws ConfigError when there is none */
export async function apiKeyFor({ embedded }: CompiledJob['service'], env: NodeJS.ProcessEnv): Promise<RotatingKey | null> {
  if (embedded) return null;
  const key = await readApiKey(env);
  if (env['MILLRACE_API_KEY']?.trim() && env['MILLRACE_API_KEY_FILE']) process.stderr.write('millrace: MILLRACE_API_KEY and MILLRACE_API_KEY_FILE are both set: the key is that of MILLRACE_API_KEY\n');
  if (key !== null) return new RotatingKey(key, { readAgain: keyFileReader(env) });
  throw new ConfigError('no_api_key', 'There is no API key', {
    hint: 'Set MILLRACE_API_KEY, or MILLRACE_API_KEY_FILE to the path of a file that holds it. `--embedded` tries things out without one.',
  });
}

/** The service that is asked: with `apiKey` the one that is configured, else one inside this process. */
export async function openService(service: CompiledJob['service'], apiKey: RotatingKey | null): Promise<Service> {
  return apiKey === null ? startEmbedded(service.rpm) : { baseUrl: service.baseUrl ?? '', apiKey, close: async () => {} };
}

/** The sample service on a free port of the loopback interface, with a key that nobody else knows: its one client is the run, which finds out by itself how much is too much. */
async function startEmbedded(rpm: number | null): Promise<Service> {
  const { startService, claimSampleStore } = await import('../service/start-service.ts');
  const key = randomBytes(24).toString('base64url');
  const service = await startService({ store: await claimSampleStore(), sample: true, development: true, embeddedKey: { key, rpm }, limits: { inFlight: Infinity, lineMs: Infinity } });
  return { baseUrl: service.url, apiKey: new RotatingKey(key), close: () => service.close() };
}
