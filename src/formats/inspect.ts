/** Inspects one file: compression, encoding, format, delimiter, header, and the position of its first record. */
import { InputError } from '../util/errors.ts';
import { readQuoted } from './csv/fields.ts';
import { readFramed, type FramedRecord } from './framed-records.ts';
import { parseObject, trimJson } from './jsonl/jsonl-records.ts';
import { CHUNK_BYTES, MAX_COLUMNS, SAMPLE_BYTES, SAMPLE_OBJECTS, SAMPLE_ROWS } from './limits.ts';
import { formatOfName } from '../sources/file-names.ts';
import { COMPRESSION_MAGIC_BYTES, findCompression, readPieces, type Readable } from './compression/chunks.ts';
import { createCodec } from './encodings/encoding.ts';
import { findDelimiter, findEncoding, findFormat, refuseJsonArray, refuseMarkup, statedDelimiter, type Sample } from './sniff.ts';
import type { ColumnType } from './parquet/column-type.ts';
import type { SourceFile } from '../sources/source.ts';
import { sourceOf } from '../sources/source-of.ts';
import type { Compression, Encoding, InputFile, InputFormat, Position } from './input-record.ts';

export interface InspectOptions {
  readonly format: InputFormat | null;
  readonly delimiter: string | null;
  /** CSV and TSV: lines above the header; default 0. */
  readonly skipLines?: number;
  /** CSV and TSV: whether the first record has the columns' names; default true. */
  readonly header?: boolean;
  /** A name from `encodingName`; null for that of the byte order mark, else UTF-8. */
  readonly encoding: string | null;
  readonly signal?: AbortSignal | undefined;
}

/** An input file, its format (null when it is empty and no format is configured), and whether a record follows its header. */
export interface InspectedFile {
  readonly file: InputFile;
  readonly format: InputFormat | null;
  readonly hasRecords: boolean;
  /** The top-level keys of its first objects (JSONL). */
  readonly sampledKeys: readonly string[];
  /** True when the file begins with a byte order mark. */
  readonly bom: boolean;
  /** Parquet only. */
  readonly types?: readonly ColumnType[];
}

/** The first bytes of a Parquet file. */
const PARQUET_MAGIC = 'PAR1';

/** Inspects one file. `index` is its index in the manifest. @throws InputError with a code for each way in which it is unusable */
export async function inspectFile(found: SourceFile, index: number, options: InspectOptions): Promise<InspectedFile> {
  const { uri, path } = found;
  const { size, digest } = await (await sourceOf(path)).identify(found, options);
  const head = await headOf({ uri, path, size, digest }, options.signal);
  if (isParquet(uri, head, options.format)) return inspectParquet({ uri, path, size, digest }, index, options.signal);
  const compression = findCompression(uri, head);
  const readable: Readable = { uri, path, size, digest, compression };
  const sample = await takeSample(readable, options.signal);
  const { encoding, bom } = findEncoding(sample, options.encoding);
  const above = bytesOfLines(sample, bom, options.skipLines ?? 0, encoding);
  const text = textOf(sample.bytes.subarray(above.bytes), encoding);
  const format = options.format ?? formatOfName(uri) ?? findFormat(uri, text);
  const begin: Position = { file: index, line: 1 + above.lines, offset: above.bytes, frame: startFrame(compression) };
  const stated = format === 'jsonl' ? null : statedDelimiter(text);
  const delimiter = format === 'jsonl' ? null : (options.delimiter ?? stated ?? (format === 'tsv' ? '\t' : findDelimiter(firstLine(text))));
  const draft: InputFile = {
    uri,
    path,
    size,
    digest,
    compression,
    encoding,
    delimiter,
    header: [],
    keys: { email: null, domain: null, linkedin_url: null },
    start: begin,
  };
  const hasBom = bom > 0;
  refuseMarkup(uri, text);
  if (format === 'jsonl') refuseJsonArray(uri, text);
  if (format === null || format === 'jsonl')
    return {
      file: draft,
      format,
      hasRecords: format !== null && text.trim() !== '',
      sampledKeys: format === null ? [] : keysOfFirst(text, sample.isComplete),
      bom: hasBom,
    };
  const told = stated === null ? 0 : 1;
  const records = await firstRecords(draft, told + (options.header === false ? SAMPLE_ROWS : 2), options.signal);
  const [header, first] = records.slice(told);
  if (header === undefined) return { file: draft, format, hasRecords: false, sampledKeys: [], bom: hasBom };
  if (options.header === false) return { ...(await withoutHeader(draft, records, told, format)), bom: hasBom };
  return {
    file: { ...draft, header: await headerNames(header, draft), start: header.end },
    format,
    hasRecords: first !== undefined,
    sampledKeys: [],
    bom: hasBom,
  };
}

/** A file whose first record is data. Its columns are named by their numbers, and its keys are found by their values. */
async function withoutHeader(
  draft: InputFile,
  records: readonly FramedRecord[],
  told: number,
  format: InputFormat,
): Promise<Omit<InspectedFile, 'bom'>> {
  const delimiter = draft.delimiter ?? ',';
  const readable = records.slice(told).filter(({ kind, valid }) => valid && (kind === 'plain' || kind === 'quoted' || kind === 'dirty'));
  const rows = await readQuoted(
    readable.map(({ text }) => text),
    readable.map(({ kind }) => kind !== 'dirty'),
    delimiter,
  );
  const width = Math.min(MAX_COLUMNS, Math.max(1, ...rows.map((row) => row.length)));
  const header = Array.from({ length: width }, (_, index) => `column_${index + 1}`);
  // A line that states the delimiter stands above the first record.
  const start = told === 0 ? draft.start : (records[told - 1]?.end ?? draft.start);
  return { file: { ...draft, header, start }, format, hasRecords: true, sampledKeys: [] };
}

/** The bytes and the number of the lines above a header, the byte order mark included. @throws InputError when the file has fewer */
function bytesOfLines({ uri, bytes }: Sample, bom: number, lines: number, encoding: Encoding): { bytes: number; lines: number } {
  // An empty file has nothing to skip, and is no mistake.
  if (lines === 0 || bytes.length === bom) return { bytes: bom, lines: 0 };
  const end = Buffer.from(encoding === 'utf-16be' ? [0, 10] : encoding === 'utf-16le' ? [10, 0] : [10]);
  let at = bom;
  for (let line = 0; line < lines; line++) {
    let found = bytes.indexOf(end, at);
    // Half of one character and half of the next are no line end.
    while (found !== -1 && (found - bom) % end.length !== 0) found = bytes.indexOf(end, found + 1);
    if (found === -1)
      throw new InputError('input_header', `${uri} has no header after ${lines} skipped lines: it ends, or they are too long.`, {
        hint: 'Check input.skipLines.',
      });
    at = found + end.length;
  }
  return { bytes: at, lines };
}

function textOf(bytes: Buffer, encoding: Encoding): string {
  const codec = createCodec(encoding);
  const converted = codec.convert(bytes);
  return codec.text(converted, 0, converted.length);
}

/** @param isComplete whether the last line is complete */
function keysOfFirst(text: string, isComplete: boolean): string[] {
  const keys = new Set<string>();
  const lines = text.split('\n', SAMPLE_OBJECTS);
  // The header ends with its line; a further line would follow.
  if (!isComplete && lines.length < SAMPLE_OBJECTS) lines.pop();
  for (const line of lines) {
    const object = parseObject(trimJson(line));
    if (typeof object === 'string') continue;
    for (const key of Object.keys(object)) if (keys.size < MAX_COLUMNS) keys.add(key);
  }
  return [...keys];
}

/** The first bytes, by which compression and Parquet are recognised. */
async function headOf(file: Omit<Readable, 'compression'>, signal: AbortSignal | undefined): Promise<Buffer> {
  const parts: Buffer[] = [];
  const range = { start: 0, end: Math.min(file.size, COMPRESSION_MAGIC_BYTES) };
  for await (const part of (await sourceOf(file.path)).readRange(file, range, { chunkBytes: COMPRESSION_MAGIC_BYTES, signal }))
    parts.push(part);
  return Buffer.concat(parts);
}

/** Parquet is recognised by its first bytes. A name or a configured format alone is a mistake. */
function isParquet(uri: string, head: Buffer, configured: InputFormat | null): boolean {
  const begins = head.toString('latin1', 0, PARQUET_MAGIC.length) === PARQUET_MAGIC;
  if (begins) return configured === null || configured === 'parquet';
  if ((configured ?? formatOfName(uri)) !== 'parquet') return false;
  throw new InputError('input_parquet', `${uri} is no Parquet file: it does not begin with ${PARQUET_MAGIC}.`, {
    hint: 'Parquet is compressed within the file: unpack .gz and .zst. For another format say --input.format csv.',
  });
}

async function inspectParquet(
  found: Pick<InputFile, 'uri' | 'path' | 'size' | 'digest'>,
  index: number,
  signal: AbortSignal | undefined,
): Promise<InspectedFile> {
  const { readFooter } = await import('./parquet/footer.ts');
  const { columns, rows } = await readFooter(found, signal);
  return {
    file: {
      ...found,
      compression: 'none',
      encoding: 'utf-8',
      delimiter: null,
      header: nameBlanks(columns.map(({ name }) => name)),
      keys: { email: null, domain: null, linkedin_url: null },
      start: { file: index, line: 1, offset: 0, frame: null },
      rows,
    },
    format: 'parquet',
    hasRecords: rows > 0,
    sampledKeys: [],
    bom: false,
    types: columns.map(({ type }) => type),
  };
}

/** The first decompressed bytes. */
async function takeSample(file: Readable, signal: AbortSignal | undefined): Promise<Sample> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const { bytes } of readPieces(file, { offset: 0, frame: startFrame(file.compression) }, { chunkBytes: CHUNK_BYTES, signal })) {
    parts.push(bytes);
    length += bytes.length;
    if (length > SAMPLE_BYTES) break;
  }
  return { uri: file.uri, bytes: Buffer.concat(parts).subarray(0, SAMPLE_BYTES), isComplete: length <= SAMPLE_BYTES };
}

function startFrame(compression: Compression): Position['frame'] {
  return compression === 'none' ? null : { at: 0, offset: 0 };
}

function firstLine(text: string): string {
  return /[^\r\n]+/.exec(text)?.[0] ?? '';
}

async function firstRecords(file: InputFile, count: number, signal: AbortSignal | undefined): Promise<FramedRecord[]> {
  const records: FramedRecord[] = [];
  for await (const batch of readFramed(file, file.start, { chunkBytes: CHUNK_BYTES, signal })) {
    records.push(...batch.slice(0, count - records.length));
    if (records.length === count) break;
  }
  return records;
}

async function headerNames(header: FramedRecord, file: InputFile): Promise<string[]> {
  if (header.kind === 'unclosed' || header.kind === 'overlong') {
    const why = header.kind === 'unclosed' ? 'a quote in it is not closed' : 'it is longer than 4 MiB';
    throw new InputError('input_header', `The header of ${file.uri} (line ${header.line}) cannot be read: ${why}.`, {
      hint: 'Correct the first line of the file.',
    });
  }
  if (!header.valid) {
    throw new InputError('input_encoding', `The header of ${file.uri} (line ${header.line}) has bytes that are not ${file.encoding}.`, {
      hint: 'Say how the file is encoded with --input.encoding, or correct its first line.',
    });
  }
  const delimiter = file.delimiter ?? ',';
  const [names = []] =
    header.kind === 'plain' ? [header.text.split(delimiter)] : await readQuoted([header.text], [header.kind === 'quoted'], delimiter);
  return nameBlanks(names);
}

/** Blank header cells, common at the end of a line, are named `column_<n>` (n from 1) so that they stay distinct. */
function nameBlanks(names: readonly string[]): string[] {
  const taken = new Set(names);
  return names.map((name, index) => {
    if (name.trim() !== '') return name;
    let unique = `column_${index + 1}`;
    while (taken.has(unique)) unique = `${unique}_`;
    taken.add(unique);
    return unique;
  });
}
