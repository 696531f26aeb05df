/** Format, compression and columns of the output, from its name and its keys. Pure. */
import type { OutputFormat } from './compiled-job.ts';
import type { Compression } from '../formats/input-record.ts';
import { didYouMean, nearest } from '../util/nearest.ts';
import { originName, refusal, show } from './origin.ts';
import type { Origin } from './origin.ts';
import { checkPath } from './result-fields.ts';
import type { StepSpec } from '../steps/step-spec.ts';
import { STEPS, type Step } from '../steps/registry.ts';

const FORMATS: ReadonlyMap<string, OutputFormat> = new Map([
  ['csv', 'csv'],
  ['tsv', 'tsv'],
  ['jsonl', 'jsonl'],
  ['ndjson', 'jsonl'],
  ['parquet', 'parquet'],
]);
const COMPRESSIONS: ReadonlyMap<string, Compression> = new Map([
  ['gz', 'gzip'],
  ['zst', 'zstd'],
]);
/** The source of an output column: a part of the answer, or `input.<column>` with the column's exact name. */
const INPUT_PATH = /^input\..+$/;

/** How a name tells the format. Without its full stop. */
export const NAME_HINT = 'End it in .csv, .tsv, .jsonl or .ndjson, with .gz or .zst after that to compress, or in .parquet';

/** The base name without folders, compression and format extensions: `out/leads.csv.gz` is `leads`. */
export function bareName(uri: string): string {
  const base = uri.slice(Math.max(uri.lastIndexOf('/'), uri.lastIndexOf('\\')) + 1);
  const plain = base.replace(/\.(?:gz|zst)$/i, '').replace(/\.(?:csv|tsv|jsonl|ndjson|parquet)$/i, '');
  return plain === '' ? base : plain;
}

/** The file with the rows of one verdict: `out/leads.csv.gz` is `out/leads.risky.csv.gz`. */
export function splitPath(output: string, verdict: string): string {
  const folder = output.slice(0, Math.max(output.lastIndexOf('/'), output.lastIndexOf('\\')) + 1);
  const name = bareName(output);
  return `${folder}${name}.${verdict}${output.slice(folder.length + name.length)}`;
}

/**
 * The files beside an output that have a line for each row of a kind. `errors`: failed and invalid rows. `open`: rows that lack a field
 * because a provider gave no answer.
 */
export const SIDE_FILES = ['errors', 'open'] as const;
export type SideFile = (typeof SIDE_FILES)[number];

export function sideFilePath(output: string, which: SideFile): string {
  return `${output}.${which}.jsonl`;
}

/** Format and compression by the extensions of an output's name. */
export function shapeByName(uri: string): { format: OutputFormat | null; compression: Compression } {
  const extensions = uri
    .slice(uri.lastIndexOf('/') + 1)
    .toLowerCase()
    .split('.')
    .slice(1);
  const compression = COMPRESSIONS.get(extensions.at(-1) ?? '') ?? 'none';
  return { format: FORMATS.get(extensions.at(compression === 'none' ? -1 : -2) ?? '') ?? null, compression };
}

/** Corrects a misspelt extension: `out/leads.csv.gz` for `out/leads.cvs.gz`. Null when no known extension is near. */
function nearName(uri: string): string | null {
  const at = uri.lastIndexOf('/') + 1;
  const [stem = '', ...extensions] = uri.slice(at).split('.');
  const meant = extensions.map((extension) => nearest(extension, [...FORMATS.keys(), ...COMPRESSIONS.keys()]) ?? extension);
  const name = `${uri.slice(0, at)}${[stem, ...meant].join('.')}`;
  return name !== uri && shapeByName(name).format !== null ? name : null;
}

/** Format (unless given) and compression by extension. @throws when the extension tells no format */
export function outputShape(uri: string, format: OutputFormat | null, origin: Origin): { format: OutputFormat; compression: Compression } {
  if (uri === '-' && format === 'parquet')
    throw refusal(
      origin,
      'output_format',
      `${originName(origin)}: Parquet goes to a file, because it is whole only with its last bytes`,
      'Name a file, or write jsonl to standard output.',
    );
  if (uri === '-') return { format: format ?? 'csv', compression: 'none' };
  const { format: byName, compression } = shapeByName(uri);
  const found = format ?? byName;
  if (found === null) {
    throw refusal(
      origin,
      'output_format',
      `${originName(origin)}: the format of ${show(uri)} is not clear from its name${didYouMean(nearName(uri))}`,
      `${NAME_HINT}; or say --output.format csv.`,
    );
  }
  if (found === 'parquet' && compression !== 'none')
    throw refusal(
      origin,
      'output_format',
      `${originName(origin)}: Parquet is compressed within the file`,
      'End the name in .parquet, without .gz and .zst.',
    );
  return { format: found, compression };
}

/**
 * Checks the source of one column. @returns the step that it needs, or null; `isKnown` is false for a field outside the specification,
 * which one service may have
 */
export function checkField(
  name: string,
  path: string,
  origin: Origin,
  ownSteps: readonly StepSpec[],
): { readonly step: Step | null; readonly isKnown: boolean } {
  if (/[\p{Cc}]/u.test(name)) throw refusal(origin, 'bad_fields', `output.fields: the column name ${show(name)} has a control character`);
  if (INPUT_PATH.test(path)) return { step: null, isKnown: true };
  const { step, field, suggestion } = checkPath(path, ownSteps);
  if (field === 'no_path') {
    const hint =
      'Write result.outcome, result.error, result.did_you_mean, ' +
      `${[...STEPS, ...ownSteps.map(({ name }) => name)].map((name) => `${name}.<field>`).join(', ')} or input.<column>.`;
    throw refusal(
      origin,
      'bad_fields',
      `output.fields: ${show(path)}, for the column ${show(name)}, is no path into a result${didYouMean(suggestion)}`,
      hint,
    );
  }
  if (field === 'misspelt') {
    const hint = 'A field that your service alone has, with a name so near, is in the record of a jsonl output.';
    throw refusal(
      origin,
      'bad_fields',
      `output.fields: ${show(path)}, for the column ${show(name)}, is no field of an answer${didYouMean(suggestion)}`,
      hint,
    );
  }
  return { step, isKnown: field === 'known' };
}
