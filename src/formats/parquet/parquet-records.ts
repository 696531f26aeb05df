/** The rows of a Parquet file as input records. */
import { keyCell, twinIndexes } from '../csv/csv-records.ts';
import { PERSON_COLUMNS } from '../header-aliases.ts';
import type { InputManifest, InputRecord, KeyColumn, PersonColumn, Position } from '../input-record.ts';
import { MAX_RAW_CHARS } from '../limits.ts';
import { personCells } from '../person-cells.ts';
import { cellText, isText, TEXT, type Cell, type ColumnType } from './column-type.ts';
import { readFooter } from './footer.ts';
import { readParquetRows, type RowBatch } from './parquet-rows.ts';

/** How the columns of one file become values of the manifest. */
interface Layout {
  readonly file: number;
  /** For each column of the manifest, the index of this file's, or -1. */
  readonly at: readonly number[];
  /** One for each column of this file. */
  readonly types: readonly ColumnType[];
  /** For each column of the manifest, whether its files agree in the type. */
  readonly isKept: readonly boolean[];
  readonly keyAt: Readonly<Record<KeyColumn, number>>;
  readonly twins: ReadonlyMap<number, readonly number[]> | null;
  readonly person: Readonly<Partial<Record<PersonColumn, number>>> | null;
}

/** Positions count rows: `offset` is the number of the row from 0, and `line` that from 1. */
export async function* readParquetRecords(
  manifest: InputManifest,
  index: number,
  start: Position,
  signal?: AbortSignal,
): AsyncGenerator<InputRecord[], void, void> {
  const file = manifest.files[index];
  if (file === undefined) return;
  const { columns } = await readFooter(file, signal);
  const layout = layoutOf(
    manifest,
    index,
    columns.map(({ type }) => type),
  );
  for await (const batch of readParquetRows(file, start.offset, signal)) yield recordsOf(batch, layout);
}

function layoutOf({ columns, files, types = [], keyName }: InputManifest, file: number, own: readonly ColumnType[]): Layout {
  const { header = [], keys } = files[file] ?? {};
  const keyAt = (key: KeyColumn | PersonColumn): number => {
    const name = keys?.[key] ?? null;
    return name === null ? -1 : columns.indexOf(name);
  };
  const twins = twinIndexes({ columns }, header, Object.values(keys ?? {}));
  const wanted = PERSON_COLUMNS.filter((key) => keyName[key] !== undefined);
  return {
    file,
    at: columns.map((name) => header.indexOf(name)),
    types: own,
    isKept: columns.map((_, at) => (types[at] ?? null) !== null),
    keyAt: { email: keyAt('email'), domain: keyAt('domain'), linkedin_url: keyAt('linkedin_url') },
    twins,
    person: wanted.length === 0 ? null : Object.fromEntries(wanted.map((key) => [key, keyAt(key)])),
  };
}

function recordsOf({ first, rows, columns }: RowBatch, layout: Layout): InputRecord[] {
  return Array.from({ length: rows }, (_, row) => toRecord(columns, row, first + row, layout));
}

function toRecord(columns: RowBatch['columns'], row: number, number: number, layout: Layout): InputRecord {
  const values: string[] = [];
  const cells: Cell[] = [];
  let isBad = false;
  for (const [column, at] of layout.at.entries()) {
    const cell = columns[at]?.[row] ?? null;
    const type = layout.types[at] ?? TEXT;
    if (cell instanceof Uint8Array && isText(type)) isBad = true;
    const text = cellText(cell, type);
    values.push(text);
    cells.push(cell === null || layout.isKept[column] === true ? cell : text);
  }
  const valueAt = (at: number | undefined): string => (isBad ? '' : keyCell(values, at ?? -1, layout.twins));
  const record: InputRecord = {
    file: layout.file,
    line: number + 1,
    end: { file: layout.file, line: number + 2, offset: number + 1, frame: null },
    values,
    cells,
    json: null,
    email: valueAt(layout.keyAt.email),
    domain: valueAt(layout.keyAt.domain),
    linkedinUrl: valueAt(layout.keyAt.linkedin_url),
    bad: isBad ? 'not valid utf-8' : null,
    raw: isBad ? values.join(',').slice(0, MAX_RAW_CHARS) : null,
    surplus: false,
  };
  const person = layout.person === null ? null : personCells(layout.person, valueAt);
  return person === null ? record : { ...record, person };
}
