/** `millrace plan [JOB]` */
import type { ExitCode } from '../../errors.ts';
import type { Invocation } from '../invocation.ts';
import { readJob } from '../read-job.ts';
import { withStopSignals } from '../signals.ts';

/** Checks everything and calls nothing; needs no API key. */
export async function plan(invocation: Invocation): Promise<ExitCode> {
  const { job, options, json } = await readJob('plan', invocation);
  const { planCommand } = await import('../../job/plan-command.ts');
  return withStopSignals(({ drain }) => planCommand(job, { json, shard: options.shard, fresh: options.fresh, signal: drain }), 'Nothing was called, and nothing is kept of it.');
}
