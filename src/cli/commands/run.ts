/** `millrace run [JOB]` */
import type { ExitCode } from '../../util/errors.ts';
import type { Invocation } from '../invocation.ts';
import { withService } from '../with-service.ts';

/** Runs or resumes a job; resolves with the exit code. */
export function run(invocation: Invocation): Promise<ExitCode> {
  return withService('run', invocation, async () => (await import('../../job/commands/run-command.ts')).runCommand);
}
