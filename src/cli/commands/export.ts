/** `millrace export` */
import { EXIT, UsageError } from '../../errors.ts';
import type { ExitCode } from '../../errors.ts';
import { NAME_HINT, shapeByName } from '../../job/definition/output-shape.ts';
import type { OutputCompression, OutputFormat } from '../../job/types.ts';
import { checkApart, checkFlags, checkLocal, storeOf, switchOf, textOf } from '../flag-values.ts';
import type { Invocation } from '../invocation.ts';
import { withStopSignals } from '../signals.ts';

/** What to do after a signal. */
const AGAIN = 'Run the same command: it starts over.';
const NOTHING_TO_ESCAPE = '--escape-formulas is for tables (.csv, .tsv): only a spreadsheet runs a formula';
const KINDS = ['companies', 'contacts', 'signals'] as const;

/** Writes what a store holds, while it is served as well as not. */
export async function exportStore(invocation: Invocation): Promise<ExitCode> {
  checkFlags('export', invocation, ['store', ...KINDS, 'sources', 'escape-formulas', 'backup']);
  const store = storeOf('export', invocation);
  const backup = textOf(invocation, 'backup');
  const escapes = switchOf(invocation, 'escape-formulas');
  const outputs = KINDS.flatMap((kind) => {
    const path = textOf(invocation, kind);
    return path === null ? [] : [{ kind, path, ...shapeOf(kind, path) }];
  });
  if (backup !== null) {
    checkLocal('backup', backup);
    if (outputs.length > 0) throw new UsageError('backup_alone', '--backup copies the whole store, and goes with no other output');
    if (escapes) throw new UsageError('nothing_to_escape', NOTHING_TO_ESCAPE);
    await withStopSignals(async ({ drain }) => (await import('../../service/export/backup.ts')).backupCommand(store, backup, drain), AGAIN);
    return EXIT.ok;
  }
  if (outputs.length === 0) throw new UsageError('nothing_to_export', 'Nothing says what to export', { hint: 'Say --contacts FILE, --companies FILE or --signals FILE (- is standard output), or --backup FILE for a copy of the whole store.' });
  if (escapes && outputs.every(({ format }) => format === 'jsonl')) throw new UsageError('nothing_to_escape', NOTHING_TO_ESCAPE, { hint: 'Name a .csv or .tsv file, or leave the flag out.' });
  checkApart([{ flag: 'store', path: store }, ...outputs.map(({ kind, path }) => ({ flag: kind, path }))], 'Give each a file of its own; standard output (-) takes one kind.');
  await withStopSignals(async ({ drain }) => {
    const [{ exportCommand }, { csvRow }, { guardFormula }] = await Promise.all([import('../../service/export/export-command.ts'), import('../../writer/csv-format.ts'), import('../../formula-guard.ts')]);
    const tableRow = (format: OutputFormat): ((cells: readonly string[]) => Uint8Array) => {
      const row = csvRow(format === 'tsv' ? '\t' : ',');
      return escapes ? (cells) => row(cells.map(guardFormula)) : row;
    };
    const written = outputs.map(({ kind, path, format, compression }) => ({ kind, path, compression, tableRow: format === 'jsonl' ? null : tableRow(format) }));
    await exportCommand({ store, outputs: written, withSources: switchOf(invocation, 'sources') }, drain);
  }, AGAIN);
  return EXIT.ok;
}

function shapeOf(flag: string, path: string): { format: OutputFormat; compression: OutputCompression } {
  if (path === '-') return { format: 'jsonl', compression: 'none' };
  checkLocal(flag, path);
  const { format, compression } = shapeByName(path);
  if (format === null) throw new UsageError('output_format', `--${flag}: the format of ${JSON.stringify(path.slice(0, 80))} is not clear from its name`, { hint: `${NAME_HINT}.` });
  return { format, compression };
}
