/** `millrace jobs [FOLDER]` */
import { UsageError, type ExitCode } from '../../util/errors.ts';
import { checkFlags, switchOf } from '../flag-values.ts';
import type { Invocation } from '../invocation.ts';

/** The columns of a line where there is no terminal. */
const PLAIN_COLUMNS = 200;

/** Lists the jobs of a folder. */
export async function jobs(invocation: Invocation): Promise<ExitCode> {
  checkFlags('jobs', invocation);
  const [folder = '.', extra] = invocation.keys;
  if (extra !== undefined)
    throw new UsageError('extra_argument', 'millrace jobs takes one folder', { hint: 'Such as: millrace jobs results' });
  const { jobsCommand } = await import('../../job/commands/jobs-command.ts');
  return jobsCommand(folder, { json: switchOf(invocation, 'json'), room: process.stdout.columns || PLAIN_COLUMNS });
}
