/** The footer of a Parquet file: its columns, and where each row group lies. */
import type { CompressionCodec, FileMetaData, RowGroup, SchemaElement, SchemaTree } from 'hyparquet';
import { parquetMetadata, parquetSchema } from 'hyparquet';
import { getMaxDefinitionLevel, getMaxRepetitionLevel } from 'hyparquet/src/schema.js';
import { tooManyColumns } from '../csv/header.ts';
import { MAX_COLUMNS, MAX_FOOTER_BYTES, MAX_SCHEMA_DEPTH } from '../limits.ts';
import { isKnownCodec } from './codecs.ts';
import { columnTypeOf, NESTED, type ColumnType } from './column-type.ts';
import { asUnreadable, readBytes, unreadable, type ParquetSource } from './read-bytes.ts';
import { structEnd } from './thrift-bounds.ts';

/** A column that has values of its own, which a nested column has several of. */
export interface Leaf {
  readonly element: SchemaElement;
  /** From the root to this leaf. */
  readonly path: SchemaTree[];
  readonly maxDefinition: number;
  readonly maxRepetition: number;
}

export interface ParquetColumn {
  readonly name: string;
  readonly type: ColumnType;
  readonly tree: SchemaTree;
  /** Indexes of its leaves. */
  readonly leaves: readonly number[];
}

/** The bytes of one leaf in one row group. */
export interface Chunk {
  readonly start: number;
  readonly end: number;
  readonly codec: CompressionCodec;
}

export interface RowGroupPlace {
  readonly rows: number;
  /** One for each leaf. */
  readonly chunks: readonly Chunk[];
}

export interface ParquetFooter {
  readonly columns: readonly ParquetColumn[];
  readonly leaves: readonly Leaf[];
  readonly groups: readonly RowGroupPlace[];
  readonly rows: number;
}

const MAGIC = 'PAR1';
const ENCRYPTED_MAGIC = 'PARE';
/** The length of the metadata, and the magic, at the end of a file. */
const TAIL_BYTES = 8;
/** Read at first: most footers are smaller. */
const FIRST_BYTES = 64 * 1024;

/** @throws InputError `input_parquet`, `input_too_many_columns` */
export async function readFooter(file: ParquetSource, signal?: AbortSignal): Promise<ParquetFooter> {
  const { uri, size } = file;
  if (size < MAGIC.length + TAIL_BYTES) throw unreadable(uri, 'it is too short');
  let tail = await readBytes(file, Math.max(0, size - FIRST_BYTES), size, signal);
  const magic = Buffer.from(tail.subarray(-4)).toString('latin1');
  if (magic === ENCRYPTED_MAGIC) throw unreadable(uri, 'it is encrypted', 'Write it without encryption.');
  if (magic !== MAGIC) throw unreadable(uri, 'its end is missing', 'Was it copied before it was written to its end?');
  const length = new DataView(tail.buffer).getUint32(tail.length - TAIL_BYTES, true);
  if (length > size - TAIL_BYTES - MAGIC.length) throw unreadable(uri, 'its end is damaged');
  if (length > MAX_FOOTER_BYTES)
    throw unreadable(uri, `its footer has ${length} bytes, more than ${MAX_FOOTER_BYTES}`, 'Write it with fewer, larger row groups.');
  if (length + TAIL_BYTES > tail.length) tail = await readBytes(file, size - TAIL_BYTES - length, size, signal);
  try {
    structEnd(tail.subarray(0, tail.length - TAIL_BYTES), tail.length - TAIL_BYTES - length);
    return toFooter(file, parquetMetadata(tail, { geoparquet: false, parsers: RAW_PARSERS }));
  } catch (error) {
    throw asUnreadable(uri, error, signal);
  }
}

/** Statistics are not used, so that they are not converted either. */
const raw = (value: unknown): never => value as never;
const RAW_PARSERS = {
  timestampFromMilliseconds: raw,
  timestampFromMicroseconds: raw,
  timestampFromNanoseconds: raw,
  dateFromDays: raw,
  stringFromBytes: raw,
  jsonFromBytes: raw,
  uuidFromBytes: raw,
  geometryFromBytes: raw,
  geographyFromBytes: raw,
};

function toFooter(file: ParquetSource, metadata: FileMetaData): ParquetFooter {
  checkSchema(file.uri, metadata.schema);
  const root = parquetSchema(metadata);
  if (root.count !== metadata.schema.length) throw new RangeError('its schema is damaged');
  const leaves: Leaf[] = [];
  const columns = root.children.map((tree): ParquetColumn => {
    const from = leaves.length;
    if (tree.element.logical_type?.type === 'VARIANT')
      throw new RangeError(`its column ${tree.element.name} is a variant, which is not supported`);
    addLeaves([root, tree], leaves);
    const own = leaves.slice(from);
    const isFlat = tree.children.length === 0 && tree.element.repetition_type !== 'REPEATED';
    return {
      name: tree.element.name,
      type: isFlat ? columnTypeOf(tree.element) : NESTED,
      tree,
      leaves: own.map((_, index) => from + index),
    };
  });
  if (columns.length === 0) throw new RangeError('it has no columns');
  const groups = metadata.row_groups.map((group) => placeOf(file, group, leaves));
  const rows = groups.reduce((sum, group) => sum + group.rows, 0);
  if (!Number.isSafeInteger(rows)) throw new RangeError('it states more rows than a file can have');
  return { columns, leaves, groups, rows };
}

/** The library builds the tree of the schema recursively. */
function checkSchema(uri: string, schema: readonly SchemaElement[]): void {
  if (schema.length > MAX_COLUMNS * 2 + 1) throw tooManyColumns(uri);
  const open: number[] = [];
  for (const [index, { num_children: children = 0, name }] of schema.entries()) {
    if (typeof name !== 'string' || children < 0 || children > schema.length) throw new RangeError('its schema is damaged');
    while (open.at(-1) === 0) open.pop();
    if (index > 0) {
      if (open.length === 0) throw new RangeError('its schema is damaged');
      open[open.length - 1]! -= 1;
    }
    open.push(children);
    if (open.length > MAX_SCHEMA_DEPTH) throw new RangeError('its columns are nested too deeply');
  }
  while (open.at(-1) === 0) open.pop();
  if (open.length > 0) throw new RangeError('its schema is damaged');
}

function addLeaves(path: SchemaTree[], leaves: Leaf[]): void {
  const node = path.at(-1);
  if (node === undefined) return;
  if (node.children.length > 0) {
    for (const child of node.children) addLeaves([...path, child], leaves);
    return;
  }
  if (node.element.type === undefined) throw new RangeError(`its column ${node.path.join('.')} has no type`);
  leaves.push({
    element: node.element,
    path,
    maxDefinition: getMaxDefinitionLevel(path),
    maxRepetition: getMaxRepetitionLevel(path),
  });
}

function placeOf({ size }: ParquetSource, { columns, num_rows: rows }: RowGroup, leaves: readonly Leaf[]): RowGroupPlace {
  // An empty row group has places that mean nothing.
  if (rows === 0n) return { rows: 0, chunks: [] };
  if (columns.length !== leaves.length || rows < 0n || rows > BigInt(Number.MAX_SAFE_INTEGER))
    throw new RangeError('a row group is damaged');
  return {
    rows: Number(rows),
    chunks: columns.map(({ meta_data: data, file_path: other }, index) => {
      if (data === undefined) throw new RangeError('a column is encrypted');
      if (other !== undefined && other !== '') throw new RangeError('a column lies in another file');
      if (!isKnownCodec(data.codec))
        throw new RangeError(`its compression ${data.codec ?? ''} is not supported: write it with snappy, zstd, gzip or none`);
      if (data.type !== leaves[index]?.element.type) throw new RangeError('a column has another type than the schema');
      const first = Number(data.data_page_offset);
      // Some writers state 0 for a column without a dictionary.
      const dictionary = Number(data.dictionary_page_offset ?? 0n);
      const start = dictionary > 0 && dictionary < first ? dictionary : first;
      const end = start + Number(data.total_compressed_size);
      if (!(start >= MAGIC.length && end >= start && end <= size - TAIL_BYTES)) throw new RangeError('a column lies outside of the file');
      return { start, end, codec: data.codec };
    }),
  };
}
