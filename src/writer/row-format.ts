import { guardFormula } from '../util/formula-guard.ts';
import type { CompiledJob } from '../definition/compiled-job.ts';
import type { RecordResult } from '../processor/result.ts';
import { jsonlValues } from '../formats/jsonl/jsonl-records.ts';
import type { InputManifest, InputRecord, TableShape } from '../formats/input-record.ts';
import { csvRow } from '../formats/csv/csv-row.ts';
import { cellJson, TEXT, type Cell } from '../formats/parquet/column-type.ts';
import type { WrittenColumn } from '../formats/parquet/row-groups.ts';
import { encodeCells } from '../formats/parquet/written-cells.ts';
import { fieldReaders, resultColumns, stepsOfRow, typedResultColumns } from './result-columns.ts';

/** Formats a record and its result as one row. */
export interface RowFormat {
  /** Bytes before the first row. Null without a header. */
  readonly header: Buffer | null;
  row(record: InputRecord, result: RecordResult): Buffer;
  /** Parquet only: the columns of its rows, which are those of `encodeCells`. */
  readonly columns?: readonly WrittenColumn[];
}

/** The format that a job asks for. csv and tsv: the input's columns, then the result's. jsonl: one object a row. */
export function rowFormat(job: CompiledJob, manifest: InputManifest): RowFormat {
  switch (job.output.format) {
    case 'jsonl':
      return jsonlRows(job, manifest);
    case 'parquet':
      return parquetRows(job, manifest);
    default:
      return delimitedRows(job, manifest);
  }
}

/** How a csv or tsv output is written: as the job says, else as its input is. */
export function outputTable(
  output: Pick<CompiledJob['output'], 'format' | 'delimiter' | 'bom'>,
  { format, table }: InputManifest,
): TableShape {
  const own = output.format === 'tsv' ? '\t' : format === 'csv' ? table?.delimiter : undefined;
  return { delimiter: output.delimiter ?? own ?? ',', bom: output.bom ?? table?.bom ?? false };
}

/** A byte order mark, by which spreadsheets know UTF-8. */
const BOM = Buffer.from('\ufeff');

function delimitedRows(job: CompiledJob, manifest: InputManifest): RowFormat {
  const { delimiter, bom } = outputTable(job.output, manifest);
  const row = csvRow(delimiter, job.output.lineEnds === 'crlf' ? '\r\n' : '\n');
  const columns = resultColumns(job, manifest.columns);
  const guard = job.output.escapeFormulas ? guardFormula : null;
  const cells = (own: readonly string[], added: readonly string[]): string[] => {
    const all = [...own, ...added];
    return guard === null ? all : all.map(guard);
  };
  const header = row(cells(manifest.columns, columns.names));
  return {
    header: bom ? Buffer.concat([BOM, header]) : header,
    row: (record, result) => row(cells(record.values ?? ownValues(record, manifest), columns.read(result, record))),
  };
}

function parquetRows(job: CompiledJob, manifest: InputManifest): RowFormat {
  const results = typedResultColumns(job, manifest);
  const own = manifest.columns.map((name, index): WrittenColumn => ({ name, type: manifest.types?.[index] ?? TEXT }));
  return {
    header: null,
    columns: [...own, ...results.columns],
    row: (record, result) => encodeCells([...(record.cells ?? textCells(record, manifest)), ...results.read(result, record)]),
  };
}

/** Tables of text have no other word for an empty cell. */
function textCells(record: InputRecord, manifest: InputManifest): Cell[] {
  return (record.values ?? ownValues(record, manifest)).map((value) => (value === '' ? null : value));
}

/** jsonl to csv: the values of the columns. A line that could not be parsed stands in the first column. */
function ownValues(record: InputRecord, manifest: InputManifest): string[] {
  if (record.bad === null) return jsonlValues(record.json ?? '{}', manifest.columns);
  return manifest.columns.map((_, i) => (i === 0 ? (record.raw ?? '') : ''));
}

function jsonlRows(job: CompiledJob, manifest: InputManifest): RowFormat {
  const keys = manifest.columns.map((name) => JSON.stringify(name));
  const input = (record: InputRecord): string =>
    record.json ?? `{${(record.values ?? []).map((value, i) => `${keys[i] ?? '""'}:${valueJson(record, value, i)}`).join(',')}}`;
  // A value of Parquet keeps its type.
  const valueJson = ({ cells }: InputRecord, value: string, index: number): string =>
    cells === undefined ? JSON.stringify(value) : cellJson(cells[index] ?? null, manifest.types?.[index] ?? TEXT);
  const steps = stepsOfRow(job.steps);
  const { fields } = job.output;
  if (fields !== null) {
    const readers = fieldReaders(fields, manifest.columns).map(([name, read]) => [JSON.stringify(name), read] as const);
    return {
      header: null,
      row: (record, result) =>
        Buffer.from(
          `{"input":${input(record)}` +
            `${readers.map(([name, read]) => `,${name}:${JSON.stringify(read(result, record) ?? null)}`).join('')}}\n`,
        ),
    };
  }
  return {
    header: null,
    row: (record, result) => {
      const error = result.error === null ? '' : `,"error":${JSON.stringify(result.error)}`;
      const meant = (result.didYouMean ?? null) === null ? '' : `,"did_you_mean":${JSON.stringify(result.didYouMean)}`;
      let line = `{"input":${input(record)},"result":{"outcome":"${result.outcome}"${error}${meant}}`;
      for (const step of steps) line += `,"${step}":${result.answers[step]?.text ?? 'null'}`;
      return Buffer.from(`${line}}\n`);
    },
  };
}
