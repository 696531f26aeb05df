/**
 * Writes Parquet: row groups one by one, which do not depend on their place in the file, and a footer at the end. Between them only a note
 * of each row group is kept, so that a resume continues after any of them.
 */
import type { ColumnChunk, RowGroup, SchemaElement } from 'hyparquet';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import type { ColumnType } from './column-type.ts';
import { decodeCells } from './written-cells.ts';
import { present } from '../../util/assert.ts';

export interface WrittenColumn {
  readonly name: string;
  readonly type: ColumnType;
}

/** Where a row group lies, and its columns within it. Plain JSON, in the checkpoint. */
export interface RowGroupNote {
  /** Its first byte in the file. */
  readonly at: number;
  readonly rows: number;
  /** For each column: its bytes before compression and after it, where its dictionary (or null) and its values begin, and its encodings. */
  readonly columns: readonly (readonly [plain: number, packed: number, dictionary: number | null, values: number, encodings: string])[];
}

/** The first and last bytes of a file. */
export const MAGIC: Buffer = Buffer.from('PAR1');
const CREATOR = 'millrace';
const CODEC = 'SNAPPY';

/** Encodes rows of `encodeCells`. The note's place is 0. */
export function encodeRowGroup(columns: readonly WrittenColumn[], rows: readonly Buffer[]): { bytes: Buffer; note: RowGroupNote } {
  const data = columns.map((): unknown[] => []);
  for (const row of rows) {
    const cells = decodeCells(row);
    for (const [column, values] of data.entries()) values.push(cells[column] ?? null);
  }
  const out = new ByteWriter();
  // Values are as they are stored already, so the schema here has no logical types to convert them by.
  const parquet = new ParquetWriter({ writer: out, schema: schemaOf(columns, physical), codec: CODEC, statistics: false });
  void parquet.write({
    columnData: columns.map(({ name, type }, index) => ({
      name,
      data: storable(data[index] ?? [], type),
      offsetIndex: false,
      // A dictionary would take -0 for 0.
      ...(type.type === 'DOUBLE' || type.type === 'FLOAT' ? { encoding: 'PLAIN' as const } : {}),
    })),
    rowGroupSize: Math.max(1, rows.length),
  });
  const [group] = parquet.row_groups;
  return {
    bytes: Buffer.from(out.getBuffer()).subarray(MAGIC.length),
    note: { at: 0, rows: rows.length, columns: (group?.columns ?? []).map(noteOf) },
  };
}

/** The end of a file with these row groups. */
export function footerBytes(columns: readonly WrittenColumn[], groups: readonly RowGroupNote[]): Buffer {
  const out = new ByteWriter();
  const parquet = new ParquetWriter({
    writer: out,
    schema: schemaOf(columns, ({ name, type }) => ({ ...type, name, repetition_type: 'OPTIONAL' })),
    codec: CODEC,
    createdBy: CREATOR,
  });
  parquet.row_groups = groups.map((group) => toRowGroup(group, columns));
  parquet.num_rows = BigInt(groups.reduce((sum, { rows }) => sum + rows, 0));
  void parquet.finish();
  return Buffer.from(out.getBuffer()).subarray(MAGIC.length);
}

function schemaOf(columns: readonly WrittenColumn[], toElement: (column: WrittenColumn) => SchemaElement): SchemaElement[] {
  return [{ name: 'schema', num_children: columns.length }, ...columns.map(toElement)];
}

function physical({ name, type: { type, type_length: length } }: WrittenColumn): SchemaElement {
  return {
    name,
    ...(type === undefined ? {} : { type }),
    ...(length === undefined ? {} : { type_length: length }),
    repetition_type: 'OPTIONAL',
  };
}

/** Text and bytes in one column are all written as bytes. */
function storable(values: unknown[], { type }: ColumnType): unknown[] {
  if (type !== 'BYTE_ARRAY' || !values.some((value) => value instanceof Uint8Array)) return values;
  return values.map((value) => (typeof value === 'string' ? new Uint8Array(Buffer.from(value)) : value));
}

function noteOf({ meta_data: meta }: ColumnChunk): RowGroupNote['columns'][number] {
  const data = present(meta, 'a column is written with its metadata');
  const within = (offset: bigint): number => Number(offset) - MAGIC.length;
  return [
    Number(data.total_uncompressed_size),
    Number(data.total_compressed_size),
    data.dictionary_page_offset === undefined ? null : within(data.dictionary_page_offset),
    within(data.data_page_offset),
    data.encodings.join(),
  ];
}

function toRowGroup({ at, rows, columns: notes }: RowGroupNote, columns: readonly WrittenColumn[]): RowGroup {
  const chunks = notes.map(([plain, packed, dictionary, values, encodings], index): ColumnChunk => {
    const { name, type } = columns[index] ?? { name: '', type: {} };
    const physical = present(type.type, 'a row group has the columns of its file');
    return {
      file_offset: BigInt(at + (dictionary ?? values)),
      meta_data: {
        type: physical,
        encodings: encodings.split(',') as never,
        path_in_schema: [name],
        codec: CODEC,
        num_values: BigInt(rows),
        total_uncompressed_size: BigInt(plain),
        total_compressed_size: BigInt(packed),
        data_page_offset: BigInt(at + values),
        ...(dictionary === null ? {} : { dictionary_page_offset: BigInt(at + dictionary) }),
      },
    };
  });
  return {
    columns: chunks,
    total_byte_size: BigInt(notes.reduce((sum, [plain]) => sum + plain, 0)),
    num_rows: BigInt(rows),
    total_compressed_size: BigInt(notes.reduce((sum, [, packed]) => sum + packed, 0)),
  };
}
