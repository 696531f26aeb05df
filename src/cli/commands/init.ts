/** `millrace init INPUT` */
import { UsageError, type ExitCode } from '../../util/errors.ts';
import { checkFlags, textOf } from '../flag-values.ts';
import type { Invocation } from '../invocation.ts';

/** Writes a commented job file for an input. */
export async function init(invocation: Invocation): Promise<ExitCode> {
  checkFlags('init', invocation);
  const [input, extra] = invocation.keys;
  if (input === undefined || input === '-' || extra !== undefined)
    throw new UsageError('no_input', 'millrace init needs the one input that the job will read', {
      hint: 'Such as: millrace init leads.csv',
    });
  const { initCommand } = await import('../../job/commands/init-command.ts');
  return initCommand({ input, file: textOf(invocation, 'to') });
}
