/** `millrace check` */
import { EXIT, UsageError } from '../../errors.ts';
import type { ExitCode } from '../../errors.ts';
import { checkFlags, checkLocal, storeOf, textOf } from '../flag-values.ts';
import type { Invocation } from '../invocation.ts';
import { withStopSignals } from '../signals.ts';

/** What to do after a signal. */
const AGAIN = 'Run the same command: it starts over; the store is as it was.';

/** Looks for damage in a store; with --restore or --rebuild it also makes the store anew. */
export async function check(invocation: Invocation): Promise<ExitCode> {
  checkFlags('check', invocation, ['store', 'restore', 'rebuild', 'json']);
  const store = storeOf('check', invocation);
  const backup = textOf(invocation, 'restore');
  const json = invocation.flags.get('json') === true;
  checkLocal('store', store);
  const isRebuild = invocation.flags.get('rebuild') === true;
  if (backup !== null && isRebuild) throw new UsageError('flags_conflict', '--rebuild goes without a backup: --restore BACKUP does the same with one');
  if (backup !== null) checkLocal('restore', backup);
  await withStopSignals(async ({ drain }) => {
    if (backup === null && !isRebuild) await (await import('../../service/check/check-command.ts')).checkCommand(store, json, drain);
    else await (await import('../../service/restore/restore-command.ts')).restoreCommand(store, backup, json, drain);
  }, AGAIN);
  return EXIT.ok;
}
