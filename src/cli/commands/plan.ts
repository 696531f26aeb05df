/** `millrace plan [JOB]` */
import { ConfigError, type ExitCode } from '../../util/errors.ts';
import type { ApiKeyState } from '../../job/commands/plan-command.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import type { Invocation } from '../invocation.ts';
import { readJob } from '../read-job.ts';
import { withStopSignals } from '../signals.ts';
import { readKeys } from '../../library/provider-access.ts';
import { warn } from '../with-service.ts';

/** Checks everything and calls nothing. It needs no API key, and says so where `millrace run` would miss one. */
export async function plan(invocation: Invocation): Promise<ExitCode> {
  const { job, options, json, matchRate } = await readJob('plan', invocation);
  const apiKey = await apiKeyState(job, invocation.env);
  const { planCommand } = await import('../../job/commands/plan-command.ts');
  return withStopSignals(
    ({ drain }) => planCommand(job, { json, apiKey, shard: options.shard, fresh: options.fresh, matchRate, signal: drain }),
    'Nothing was called, and nothing is kept of it.',
  );
}

/** For a job that names its providers: of all of them. */
async function apiKeyState(job: CompiledJob, env: NodeJS.ProcessEnv): Promise<ApiKeyState> {
  try {
    const keys = await readKeys(job, env, warn);
    return { state: [...keys.values()].every((key) => key === null) ? 'not_needed' : 'set' };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { state: error.code === 'no_api_key' ? 'missing' : 'unusable', problem: error.message, hint: error.hint ?? '' };
  }
}
