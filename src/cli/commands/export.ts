/** `millrace export` */
import { EXIT, UsageError } from '../../util/errors.ts';
import type { ExitCode } from '../../util/errors.ts';
import { NAME_HINT, shapeByName } from '../../definition/output-shape.ts';
import type { OutputFormat } from '../../definition/compiled-job.ts';
import type { Compression } from '../../formats/input-record.ts';
import { checkApart, checkFlags, requireLocalFile, storeOf, switchOf, textOf } from '../flag-values.ts';
import type { Invocation } from '../invocation.ts';
import { withStopSignals } from '../signals.ts';

/** The hint after a signal. */
const AGAIN = 'Run the same command: it starts over.';
const NOTHING_TO_ESCAPE = '--escape-formulas is for tables (.csv, .tsv): only a spreadsheet runs a formula';
const KINDS = ['companies', 'contacts', 'signals'] as const;

/** Writes the records of a store, also while it is served. */
export async function exportStore(invocation: Invocation): Promise<ExitCode> {
  checkFlags('export', invocation);
  const store = storeOf('export', invocation);
  const backup = textOf(invocation, 'backup');
  const escapes = switchOf(invocation, 'escape-formulas');
  const outputs = KINDS.flatMap((kind) => {
    const path = textOf(invocation, kind);
    return path === null ? [] : [{ kind, path, ...shapeOf(kind, path) }];
  });
  if (backup !== null) {
    requireLocalFile('backup', backup);
    if (outputs.length > 0) throw new UsageError('backup_alone', '--backup copies the whole store, and goes with no other output');
    if (escapes) throw new UsageError('nothing_to_escape', NOTHING_TO_ESCAPE);
    await withStopSignals(
      async ({ drain }) => (await import('../../service/admin/export/backup.ts')).backupCommand(store, backup, drain),
      AGAIN,
    );
    return EXIT.ok;
  }
  if (outputs.length === 0)
    throw new UsageError('nothing_to_export', 'Nothing says what to export', {
      hint:
        'Say --contacts FILE, --companies FILE or --signals FILE (- is ' +
        'standard output), or --backup FILE for a copy of the whole store.',
    });
  if (escapes && outputs.every(({ format }) => format === 'jsonl'))
    throw new UsageError('nothing_to_escape', NOTHING_TO_ESCAPE, { hint: 'Name a .csv or .tsv file, or leave the flag out.' });
  checkApart(
    [{ flag: 'store', path: store }, ...outputs.map(({ kind, path }) => ({ flag: kind, path }))],
    'Give each a file of its own; standard output (-) takes one kind.',
  );
  await withStopSignals(async ({ drain }) => {
    const { exportCommand } = await import('../../service/admin/export/export-command.ts');
    await exportCommand({ store, outputs, withSources: switchOf(invocation, 'sources'), escapesFormulas: escapes }, drain);
  }, AGAIN);
  return EXIT.ok;
}

function shapeOf(flag: string, path: string): { format: OutputFormat; compression: Compression } {
  if (path === '-') return { format: 'jsonl', compression: 'none' };
  requireLocalFile(flag, path);
  const { format, compression } = shapeByName(path);
  if (format === null)
    throw new UsageError('output_format', `--${flag}: the format of ${JSON.stringify(path.slice(0, 80))} is not clear from its name`, {
      hint: `${NAME_HINT}.`,
    });
  return { format, compression };
}
