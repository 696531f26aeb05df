/** `millrace import` */
import { UsageError } from '../../util/errors.ts';
import type { ExitCode } from '../../util/errors.ts';
import { encodingName } from '../../formats/encodings/encoding.ts';
import { checkApart, checkFlags, requireLocalFile, storeOf, textOf, wordOf } from '../flag-values.ts';
import type { Invocation } from '../invocation.ts';
import { withStopSignals } from '../signals.ts';

const STOPPED =
  'What was imported by then stays. Run the same command: it reads the files from the beginning, ' +
  'and what is there already changes nothing.';

/** Companies come first, because people and signals belong to them. */
const KINDS = ['companies', 'contacts', 'signals', 'deliveries'] as const;
const COLUMNS = 'columns.';

/** Loads files into a store; a running service has them at once. */
export async function importFilesCommand(invocation: Invocation): Promise<ExitCode> {
  checkFlags('import', invocation, COLUMNS);
  const store = storeOf('import', invocation);
  const columns = new Map(
    [...invocation.flags.keys()]
      .filter((flag) => flag.startsWith(COLUMNS))
      .map((flag) => [flag.slice(COLUMNS.length), textOf(invocation, flag) ?? '']),
  );
  const asOfMs = dayOf(textOf(invocation, 'as-of'));
  // Files without a flag hold people. Beside another kind's flag they come from a glob that the shell expanded.
  const [stray] = KINDS.some((kind) => kind !== 'contacts' && textOf(invocation, kind) !== null) ? invocation.keys : [];
  if (stray !== undefined)
    throw new UsageError('extra_argument', `Nothing says what ${JSON.stringify(stray.slice(0, 80))} has in it`, {
      hint: 'Quote globs: Millrace expands them itself. Beside files of another kind, those of people need --contacts.',
    });
  const named = KINDS.flatMap((kind) =>
    [textOf(invocation, kind) ?? [], kind === 'contacts' ? invocation.keys : []].flat().map((uri) => ({ kind, uri })),
  );
  if (named.length === 0)
    throw new UsageError('nothing_to_import', 'Nothing says what to import', {
      hint: 'Name files of people, or say --companies FILE, --signals FILE or --deliveries FILE.',
    });
  if (named.filter(({ uri }) => uri === '-').length > 1)
    throw new UsageError('repeated_input', 'Standard input can be read once, and is named several times', {
      hint: 'Give all but one of them as files.',
    });
  const shape = {
    format: wordOf(invocation, 'input.format', ['csv', 'tsv', 'jsonl']),
    delimiter: textOf(invocation, 'input.delimiter'),
    encoding: encodingOf(textOf(invocation, 'input.encoding')),
  };
  const rejectedPath = textOf(invocation, 'rejected') ?? `${store}.rejected.jsonl`;
  requireLocalFile('rejected', rejectedPath);
  for (const { flag, path } of [{ flag: 'store', path: store }, ...named.map(({ kind, uri }) => ({ flag: kind, path: uri }))]) {
    checkApart(
      [
        { flag, path },
        { flag: 'rejected', path: rejectedPath },
      ],
      'Give the rejected rows a file of their own.',
    );
  }
  return withStopSignals(async ({ drain }) => {
    const { importCommand } = await import('../../service/admin/import/import-command.ts');
    const inputs = KINDS.filter((kind) => named.some((one) => one.kind === kind)).map((kind) => ({
      kind,
      uris: named.filter((one) => one.kind === kind).map(({ uri }) => uri),
    }));
    return importCommand({ store, inputs, shape, columns, asOfMs, rejectedPath }, drain);
  }, STOPPED);
}

function dayOf(text: string | null): number | null {
  if (text === null) return null;
  const ms = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : NaN;
  if (!Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text)) return ms;
  throw new UsageError('bad_value', `--as-of must be a day, such as 2026-01-31, got ${JSON.stringify(text.slice(0, 80))}`);
}

function encodingOf(label: string | null): string | null {
  if (label === null) return null;
  const name = encodingName(label);
  if (name !== null) return name;
  throw new UsageError(
    'bad_value',
    '--input.encoding must be a name of the WHATWG Encoding Standard such as ' +
      `utf-8, windows-1252 or shift_jis, got ${JSON.stringify(label.slice(0, 80))}`,
  );
}
