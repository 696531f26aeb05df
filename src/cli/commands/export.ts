/** `millrace export` */
import { EXIT, UsageError } from '../../errors.ts';
import type { ExitCode } from '../../errors.ts';
import { checkApart, checkFlags, storeOf, textOf } from '../flag-values.ts';
import type { Invocation } from '../invocation.ts';
import { withStopSignals } from '../signals.ts';

/** What to do after a signal. */
const AGAIN = 'Run the same command: it starts over.';
const KINDS = ['companies', 'contacts', 'signals'] as const;

/** Writes what a store holds, while it is served as well as not. */
export async function exportStore(invocation: Invocation): Promise<ExitCode> {
  checkFlags('export', invocation, ['store', ...KINDS, 'sources', 'backup']);
  const store = storeOf('export', invocation);
  const backup = textOf(invocation, 'backup');
  const outputs = KINDS.flatMap((kind) => {
    const path = textOf(invocation, kind);
    return path === null ? [] : [{ kind, path, ...shapeOf(path) }];
  });
  if (backup !== null) {
    if (outputs.length > 0) throw new UsageError('backup_alone', '--backup copies the whole store, and goes with no other output');
    await withStopSignals(async ({ drain }) => (await import('../../service/export/backup.ts')).backupCommand(store, backup, drain), AGAIN);
    return EXIT.ok;
  }
  if (outputs.length === 0) throw new UsageError('nothing_to_export', 'Nothing says what to export', { hint: 'Say --contacts FILE, --companies FILE or --signals FILE (- is standard output), or --backup FILE for a copy of the whole store.' });
  checkApart([{ flag: 'store', path: store }, ...outputs.map(({ kind, path }) => ({ flag: kind, path }))], 'Give each a file of its own; standard output (-) takes one kind.');
  await withStopSignals(async ({ drain }) => {
    const [{ exportCommand }, { csvRow }] = await Promise.all([import('../../service/export/export-command.ts'), import('../../writer/csv-format.ts')]);
    await exportCommand({ store, outputs, withSources: invocation.flags.get('sources') === true, csvRow: csvRow(',') }, drain);
  }, AGAIN);
  return EXIT.ok;
}

function shapeOf(path: string): { format: 'csv' | 'jsonl'; compression: 'none' | 'gzip' | 'zstd' } {
  if (path === '-') return { format: 'jsonl', compression: 'none' };
  const [, format, ending] = /\.(csv|jsonl|ndjson)(\.gz|\.zst)?$/i.exec(path) ?? [];
  if (format === undefined) throw new UsageError('bad_value', `cannot tell the format of ${path.slice(0, 200)}`, { hint: 'Name it .csv or .jsonl, with .gz or .zst after it if it is to be compressed.' });
  return { format: format.toLowerCase() === 'csv' ? 'csv' : 'jsonl', compression: ending === undefined ? 'none' : ending.toLowerCase() === '.gz' ? 'gzip' : 'zstd' };
}
