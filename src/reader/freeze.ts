/** Finds, checks and freezes the input. A job reads this input from its first start to its last resume. */
import { resolve } from 'node:path';
import type { JobInput } from '../definition/compiled-job.ts';
import { InputError } from '../util/errors.ts';
import { findKeyColumns, noKeyError } from '../formats/header-aliases.ts';
import { chooseColumns } from './choose-columns.ts';
import { sampleColumns } from './column-samples.ts';
import { isSameType } from '../formats/parquet/column-type.ts';
import { checkHeader, unionOf } from '../formats/csv/header.ts';
import { discover } from '../sources/discover.ts';
import { inspectFile, type InspectedFile } from '../formats/inspect.ts';
import { scanJsonlKeys } from '../formats/jsonl/jsonl-keys.ts';
import { FILES_AT_ONCE } from '../formats/limits.ts';
import { mapConcurrently } from '../util/map-concurrently.ts';
import type { SourceFile } from '../sources/source.ts';
import { spool } from '../sources/stdin-spool.ts';
import type { InputFile, InputFormat, InputManifest, KeyNames, PersonColumn, TableShape } from '../formats/input-record.ts';

export { compareManifests, describeChange } from './input-changes.ts';

export interface FreezeOptions extends Omit<JobInput, 'where' | 'country'> {
  /** True for the job's own files (output, partial, checkpoint, ledger ...), which no glob or directory matches. */
  readonly isOwn: (path: string) => boolean;
  /** Column names that the output adds. An input column with such a name is an InputError. */
  readonly reservedColumns: readonly string[];
  /** Columns of a person that are looked for beside the usual keys. */
  readonly personColumns?: readonly PersonColumn[];
  /** jsonl only: also find the union of top-level keys, which takes one pass over the input. */
  readonly needColumns: boolean;
  /** The file path in which standard input is spooled. */
  readonly spoolPath: string;
  /** Default: process.stdin. */
  readonly stdin?: NodeJS.ReadableStream;
  readonly signal?: AbortSignal;
}

const NO_KEYS: KeyNames = { email: null, domain: null, linkedin_url: null };

/**
 * Finds the input's files and inspects each. A file that is named or matched twice is read once, in its first place. An empty or
 * header-only file is valid and has no records.
 * @throws InputError `input_missing`, `input_unreadable`, `input_binary`, `input_encoding`, `input_compression`, `input_truncated`,
 * `input_mixed_formats`, `input_json_array`, `input_delimiter`, `input_header`, `input_no_columns`, `input_duplicate_columns`,
 * `input_reserved_column`, `input_too_many_columns`
 * @throws StorageError when the disk fails or standard input cannot be spooled
 */
export async function freezeInput(options: FreezeOptions): Promise<InputManifest> {
  checkDelimiter(options.delimiter);
  const found = await findFiles(options);
  if (found.length === 0 && options.ifMissing === 'fail') {
    throw new InputError('input_missing', `Nothing matches the input ${options.uris.join(', ')}.`, {
      hint: 'Check --input, or set input.ifMissing to succeed when there may be nothing to do.',
    });
  }
  const inspected = await mapConcurrently(found, FILES_AT_ONCE, (file, index) => {
    options.signal?.throwIfAborted();
    return inspectFile(file, index, options);
  });
  const format = options.format ?? oneFormat(inspected) ?? 'csv';
  // An empty file has no format of its own.
  const files = inspected.map(({ file, format: own }) =>
    own === null ? { ...file, delimiter: format === 'csv' || format === 'tsv' ? (file.delimiter ?? ',') : null } : file,
  );
  return format === 'jsonl'
    ? await freezeJsonl({ format, files, columns: [], keyName: NO_KEYS }, inspected, options)
    : await freezeCsv({ format, files }, inspected, options);
}

async function findFiles(options: FreezeOptions): Promise<SourceFile[]> {
  const found = new Map<string, SourceFile>();
  for (const uri of options.uris) {
    if (uri === '-') {
      const path = resolve(options.spoolPath);
      await spool(options.stdin ?? process.stdin, path, options.signal);
      found.set(path, { uri, path });
      continue;
    }
    for (const file of await discover(uri, options.ifMissing === 'succeed', options)) {
      if (!found.has(file.path)) found.set(file.path, file);
    }
  }
  return [...found.values()];
}

function oneFormat(inspected: readonly InspectedFile[]): InputFormat | null {
  let first: InspectedFile | null = null;
  for (const one of inspected) {
    if (one.format === null) continue;
    first ??= one;
    if (one.format !== first.format) {
      throw new InputError(
        'input_mixed_formats',
        `The input mixes formats: ${first.file.uri} is ${first.format}, ${one.file.uri} is ${one.format}.`,
        {
          hint: 'Give the files of one format, e.g. with a glob such as *.csv, or say which they are with --input.format.',
        },
      );
    }
  }
  return first?.format ?? null;
}

async function freezeCsv(
  input: Pick<InputManifest, 'format' | 'files'>,
  inspected: readonly InspectedFile[],
  options: FreezeOptions,
): Promise<InputManifest> {
  for (const file of input.files) checkHeader(file, options.reservedColumns);
  const columns = unionOf(input.files.map(({ header }) => header));
  const files = await withKeys(
    input,
    inspected.map(({ file, hasRecords }) => (hasRecords ? file.header : [])),
    options,
  );
  const keyName =
    columns.length === 0 ? NO_KEYS : keysOfAll(files, findKeyColumns(columns, options.columns, false, options.personColumns), NO_KEYS);
  // Also without records: it may be an error message in the place of a table.
  for (const { uri, header, keys } of files)
    if (header.length > 0 && !hasAny(keys)) throw noKeyError(uri, header, true, options.personColumns);
  const table = tableShape(inspected);
  return {
    ...input,
    files,
    columns,
    keyName,
    ...(table === null ? {} : { table }),
    ...(input.format === 'parquet' ? { types: typesOf(columns, inspected) } : {}),
  };
}

/** How the first table with records is written, else the first with a header; null for commas without a byte order mark. */
function tableShape(inspected: readonly InspectedFile[]): TableShape | null {
  const first = inspected.find(({ hasRecords }) => hasRecords) ?? inspected.find(({ file }) => file.header.length > 0);
  const delimiter = first?.file.delimiter ?? ',';
  return first === undefined || (delimiter === ',' && !first.bom) ? null : { delimiter, bom: first.bom };
}

/** The type of each column; null where two files have it with another type. */
function typesOf(columns: readonly string[], inspected: readonly InspectedFile[]): NonNullable<InputManifest['types']> {
  return columns.map((name) => {
    const found = inspected.flatMap(({ file, types = [] }) => types.filter((_, at) => file.header[at] === name));
    const [first, ...others] = found;
    return first !== undefined && others.every((other) => isSameType(first, other)) ? first : null;
  });
}

function hasAny(keys: KeyNames): boolean {
  return Object.entries(keys).some(([key, name]) => key !== 'country' && name !== null);
}

/**
 * The files with their key columns. Files with the same columns have the same keys, chosen by the first records of these files. A
 * configured column that one file lacks may be in another. @param headers the columns of each file; empty where it has no records
 */
async function withKeys(
  { format, files }: Pick<InputManifest, 'format' | 'files'>,
  headers: readonly (readonly string[])[],
  options: FreezeOptions,
): Promise<InputFile[]> {
  const groups = new Map<string, InputFile[]>();
  for (const [index, file] of files.entries()) {
    const name = JSON.stringify(headers[index]);
    groups.set(name, [...(groups.get(name) ?? []), file]);
  }
  const chosen = await mapConcurrently([...groups], FILES_AT_ONCE, async ([name, alike]) => {
    const header = JSON.parse(name) as readonly string[];
    const samples = await sampleColumns(format, header.length === 0 ? [] : alike, header, options.signal);
    return [name, chooseColumns(header, samples, options.columns, options.personColumns)] as const;
  });
  const keys = new Map(chosen);
  return files.map((file, index) => {
    const own =
      headers[index]?.length === 0 && file.header.length > 0
        ? chooseColumns(file.header, new Map(), options.columns, options.personColumns)
        : null;
    return { ...file, keys: own ?? keys.get(JSON.stringify(headers[index])) ?? NO_KEYS };
  });
}

/** The column of each key where all files agree, else the best of all. @param otherwise the columns of keys that no file has */
function keysOfAll(files: readonly InputFile[], best: KeyNames, otherwise: KeyNames): KeyNames {
  const of = (key: keyof KeyNames): string | null => {
    const found = new Set(files.flatMap(({ keys }) => keys[key] ?? []));
    const [only] = found;
    return only === undefined ? (otherwise[key] ?? null) : found.size === 1 ? only : (best[key] ?? only);
  };
  return Object.fromEntries(Object.keys(best).map((key) => [key, of(key as keyof KeyNames)])) as unknown as KeyNames;
}

async function freezeJsonl(manifest: InputManifest, inspected: readonly InspectedFile[], options: FreezeOptions): Promise<InputManifest> {
  const hasRecords = inspected.some((one) => one.hasRecords);
  const seen = await scanJsonlKeys(manifest, options);
  checkHeader(
    { uri: manifest.files.length === 1 ? (manifest.files[0]?.uri ?? '') : 'The input', header: seen.columns },
    options.reservedColumns,
  );
  if (seen.sampled === 0 && hasRecords) throw noJsonError(manifest.files);
  if (seen.sampled === 0) return { ...manifest, columns: seen.columns };
  const sampled = unionOf([seen.sampleColumns, ...inspected.map(({ sampledKeys }) => sampledKeys)]);
  const files = await withKeys(
    manifest,
    inspected.map(({ sampledKeys }) => sampledKeys),
    options,
  );
  const all = chooseColumns(
    sampled,
    await sampleColumns('jsonl', manifest.files, sampled, options.signal),
    options.columns,
    options.personColumns,
  );
  // In JSON lines a column that the job names need not be among the first objects.
  const keyName = { ...keysOfAll(files, all, all), ...Object.fromEntries(Object.entries(options.columns).filter(([key]) => key in all)) };
  if (!Object.values(keyName).some((name) => name !== null && sampled.includes(name))) {
    throw noKeyError(manifest.files.length === 1 ? (manifest.files[0]?.uri ?? '') : 'The input', sampled, false, options.personColumns);
  }
  return { ...manifest, files, columns: seen.columns, keyName };
}

function noJsonError(files: InputManifest['files']): InputError {
  return new InputError('input_no_columns', `No line of ${files.map(({ uri }) => uri).join(', ')} is a JSON object.`, {
    hint: 'One object a line is expected: {"email": "ada@example.com"}. Say --input.format csv where it is something else.',
  });
}

function checkDelimiter(delimiter: string | null): void {
  if (delimiter === null || /^[\x01-\x09\x0b\x0c\x0e-\x21\x23-\x7f]$/.test(delimiter)) return;
  throw new InputError(
    'input_delimiter',
    `The delimiter ${JSON.stringify(delimiter)} cannot separate columns: it must be one ASCII character, no quote and no line end.`,
    {
      hint: 'Set --input.delimiter to , or ; or | or a tab, or leave it out.',
    },
  );
}
