/** `millrace status [JOB]` */
import type { ExitCode } from '../../util/errors.ts';
import type { Invocation } from '../invocation.ts';
import { readJob } from '../read-job.ts';

/** Reads the job's checkpoint; needs no API key. */
export async function status(invocation: Invocation): Promise<ExitCode> {
  const { job, json } = await readJob('status', invocation);
  const { statusCommand } = await import('../../job/commands/status-command.ts');
  return statusCommand(job, { json });
}
