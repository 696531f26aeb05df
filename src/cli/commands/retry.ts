/** `millrace retry [JOB]` */
import type { ExitCode } from '../../util/errors.ts';
import type { Invocation } from '../invocation.ts';
import { withService } from '../with-service.ts';

/** Asks again for what failed in a finished job; resolves with the exit code. */
export function retry(invocation: Invocation): Promise<ExitCode> {
  return withService('retry', invocation, async () => (await import('../../job/commands/run-command.ts')).retryCommand);
}
