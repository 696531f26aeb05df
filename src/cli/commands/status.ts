/** `millrace status [JOB]` */
import type { ExitCode } from '../../util/errors.ts';
import type { Invocation } from '../invocation.ts';
import { readJob } from '../read-job.ts';
import { withStopSignals } from '../signals.ts';

/** Reads the job's checkpoint; needs no API key. */
export async function status(invocation: Invocation): Promise<ExitCode> {
  const { job, json, watches } = await readJob('status', invocation);
  const { statusCommand, watchStatus } = await import('../../job/commands/status-command.ts');
  if (!watches) return statusCommand(job, { json });
  return withStopSignals(({ drain }) => watchStatus(job, { json }, drain));
}
