/** Format, compression and columns of the output, from its name and its keys. Pure. */
import { STEPS, type Step } from '../steps.ts';
import type { OutputCompression, OutputFormat } from '../types.ts';
import { nameOf, refusal, show } from './origin.ts';
import type { Origin } from './origin.ts';

const FORMATS: ReadonlyMap<string, OutputFormat> = new Map([['csv', 'csv'], ['tsv', 'tsv'], ['jsonl', 'jsonl'], ['ndjson', 'jsonl']]);
const COMPRESSIONS: ReadonlyMap<string, OutputCompression> = new Map([['gz', 'gzip'], ['zst', 'zstd']]);
/** Where an output column may come from: the answer's parts, or `input.<column>` with the column's name to the letter. */
const RESULT_PATH = /^result\.(?:outcome|error)$/;
const STEP_PATH = /^([a-z]+)(?:\.[A-Za-z0-9_]+)+$/;
const INPUT_PATH = /^input\..+$/;

/** How a name says the format; without its full stop. */
export const NAME_HINT = 'End it in .csv, .tsv, .jsonl or .ndjson, with .gz or .zst after that to compress';

/** The base name without folders, compression and format extensions: `out/leads.csv.gz` is `leads`. */
export function bareName(uri: string): string {
  const base = uri.slice(Math.max(uri.lastIndexOf('/'), uri.lastIndexOf('\\')) + 1);
  const plain = base.replace(/\.(?:gz|zst)$/i, '').replace(/\.(?:csv|tsv|jsonl|ndjson)$/i, '');
  return plain === '' ? base : plain;
}

/** What the extensions of a file that is to be written say. */
export function shapeByName(uri: string): { format: OutputFormat | null; compression: OutputCompression } {
  const extensions = uri.slice(uri.lastIndexOf('/') + 1).toLowerCase().split('.').slice(1);
  const compression = COMPRESSIONS.get(extensions.at(-1) ?? '') ?? 'none';
  return { format: FORMATS.get(extensions.at(compression === 'none' ? -1 : -2) ?? '') ?? null, compression };
}

/** Format (unless given) and compression by extension. Throws where the extension says nothing. */
export function outputShape(uri: string, format: OutputFormat | null, origin: Origin): { format: OutputFormat; compression: OutputCompression } {
  if (uri === '-') return { format: format ?? 'csv', compression: 'none' };
  const { format: byName, compression } = shapeByName(uri);
  const found = format ?? byName;
  if (found === null) throw refusal(origin, 'output_format', `${nameOf(origin)}: the format of ${show(uri)} is not clear from its name`, `${NAME_HINT}; or say --output.format csv.`);
  return { format: found, compression };
}

/** Checks where one column comes from; returns the step that it needs, or null. */
export function checkField(name: string, path: string, origin: Origin): Step | null {
  if (/[\p{Cc}]/u.test(name)) throw refusal(origin, 'bad_fields', `output.fields: the column name ${show(name)} has a control character`);
  if (RESULT_PATH.test(path) || INPUT_PATH.test(path)) return null;
  const root = STEP_PATH.exec(path)?.[1];
  const step = STEPS.find((name) => name === root);
  if (step === undefined) {
    const hint = `Write result.outcome, result.error, ${STEPS.map((name) => `${name}.<field>`).join(', ')} or input.<column>.`;
    throw refusal(origin, 'bad_fields', `output.fields: ${show(path)}, for the column ${show(name)}, is no path into a result`, hint);
  }
  return step;
}
