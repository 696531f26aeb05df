/** Finds, checks and freezes the input. A job reads this input from its first start to its last resume. */
import { resolve } from 'node:path';
import type { JobInput } from '../definition/compiled-job.ts';
import { InputError } from '../util/errors.ts';
import { findKeyColumns, keysOr, noKeyError } from '../formats/header-aliases.ts';
import { isSameType } from '../formats/parquet/column-type.ts';
import { checkHeader, unionOf } from '../formats/csv/header.ts';
import { discover } from '../sources/discover.ts';
import { inspectFile, type InspectedFile } from '../formats/inspect.ts';
import { scanJsonlKeys } from '../formats/jsonl/jsonl-keys.ts';
import { FILES_AT_ONCE } from '../formats/limits.ts';
import { mapConcurrently } from '../util/map-concurrently.ts';
import type { SourceFile } from '../sources/source.ts';
import { spool } from '../sources/stdin-spool.ts';
import type { InputFormat, InputManifest, KeyNames, PersonColumn, TableShape } from '../formats/input-record.ts';

export { compareManifests, describeChange } from './input-changes.ts';

export interface FreezeOptions extends Omit<JobInput, 'where'> {
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
    : freezeCsv({ format, files }, inspected, options);
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

function freezeCsv(
  input: Pick<InputManifest, 'format' | 'files'>,
  inspected: readonly InspectedFile[],
  options: FreezeOptions,
): InputManifest {
  for (const file of input.files) checkHeader(file, options.reservedColumns);
  const columns = unionOf(input.files.map(({ header }) => header));
  const filled = inspected.filter(({ hasRecords }) => hasRecords);
  const keyName =
    columns.length === 0 || (filled.length === 0 && !hasKey(columns, options))
      ? NO_KEYS
      : keysOr(findKeyColumns(columns, options.columns, false, options.personColumns), input.files[0]?.keys ?? NO_KEYS);
  const files = input.files.map((file) => ({ ...file, keys: keysOr(keysIn(file.header, options), file.keys) }));
  for (const { uri, header, keys } of files) {
    if (filled.some(({ file }) => file.uri === uri) && !hasAny(keys)) throw noKeyError(uri, header, true, options.personColumns);
  }
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
  return Object.values(keys).some((name) => name !== null);
}

/** The key columns of one file. A configured column that this file lacks may be in another file. */
function keysIn(header: readonly string[], options: FreezeOptions): KeyNames {
  const found = findKeyColumns(header, options.columns, true, options.personColumns);
  return Object.fromEntries(
    Object.entries(found).map(([key, name]) => [key, name !== null && header.includes(name) ? name : null]),
  ) as unknown as KeyNames;
}

/** True when a key column exists. Without records, a missing column does no harm. */
function hasKey(columns: readonly string[], options: FreezeOptions): boolean {
  return Object.values(findKeyColumns(columns, options.columns, true, options.personColumns)).some(
    (name) => name !== null && columns.includes(name),
  );
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
  const keyName = findKeyColumns(sampled, options.columns, true, options.personColumns);
  if (!Object.values(keyName).some((name) => name !== null && sampled.includes(name))) {
    throw noKeyError(manifest.files.length === 1 ? (manifest.files[0]?.uri ?? '') : 'The input', sampled, false, options.personColumns);
  }
  const files = manifest.files.map((file, index) => ({ ...file, keys: keysIn(inspected[index]?.sampledKeys ?? [], options) }));
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
