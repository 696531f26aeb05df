/** `millrace check` */
import { EXIT, UsageError } from '../../util/errors.ts';
import type { ExitCode } from '../../util/errors.ts';
import { checkFlags, requireLocalFile, storeOf, textOf } from '../flag-values.ts';
import type { Invocation } from '../invocation.ts';
import { withStopSignals } from '../signals.ts';

/** The hint after a signal. */
const AGAIN = 'Run the same command: it starts over; the store is as it was.';

/** Looks for damage in a store; with --restore or --rebuild it also makes a new store. */
export async function check(invocation: Invocation): Promise<ExitCode> {
  checkFlags('check', invocation);
  const store = storeOf('check', invocation);
  const backup = textOf(invocation, 'restore');
  const json = invocation.flags.get('json') === true;
  requireLocalFile('store', store);
  const isRebuild = invocation.flags.get('rebuild') === true;
  if (backup !== null && isRebuild)
    throw new UsageError('flags_conflict', '--rebuild goes without a backup: --restore BACKUP does the same with one');
  if (backup !== null) requireLocalFile('restore', backup);
  await withStopSignals(async ({ drain }) => {
    if (backup === null && !isRebuild) await (await import('../../service/admin/check/check-command.ts')).checkCommand(store, json, drain);
    else await (await import('../../service/admin/restore/restore-command.ts')).restoreCommand(store, backup, json, drain);
  }, AGAIN);
  return EXIT.ok;
}
