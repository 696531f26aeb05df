/** `millrace verify EMAIL... | -` */
import { UsageError, type ExitCode } from '../../util/errors.ts';
import type { Invocation } from '../invocation.ts';
import { askService, KINDS } from '../one-off.ts';
import { LOCAL_FLAGS, verifyHere } from '../verify-here.ts';

/** Asks the configured service, or with `--local` checks here. A bad address is a result: the exit code is 0 for it too. */
export async function verify(invocation: Invocation): Promise<ExitCode> {
  if (invocation.flags.get('local') === true) return verifyHere(invocation);
  const stray = LOCAL_FLAGS.find((flag) => invocation.flags.has(flag));
  if (stray !== undefined)
    throw new UsageError('unknown_flag', `--${stray} goes with --local alone`, {
      hint: 'Add --local to check here; the service decides for itself how it looks.',
    });
  return askService(KINDS.verify, invocation, ['local', 'json']);
}
