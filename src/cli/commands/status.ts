/** `millrace status [JOB]` */
import type { ExitCode } from '../../errors.ts';
import type { Invocation } from '../invocation.ts';
import { readJob } from '../read-job.ts';

/** Reads the job's checkpoint; needs no API key. */
export async function status(invocation: Invocation): Promise<ExitCode> {
  const { job, json } = await readJob('status', invocation);
  const { statusCommand } = await import('../../job/status-command.ts');
  return statusCommand(job, { json });
}
