/** Framed CSV and TSV records as input records: one value for each column of the manifest. */
import { readQuoted } from './fields.ts';
import { detached, type FramedRecord } from '../framed-records.ts';
import { MAX_BATCH_CELLS, MAX_RAW_CHARS } from '../limits.ts';
import { PERSON_COLUMNS, twinsOf } from '../header-aliases.ts';
import { personCells } from '../person-cells.ts';
import type { Encoding, InputManifest, InputRecord, KeyColumn, PersonColumn } from '../input-record.ts';

/** The reason for a bad record whose cells after the first 4 MiB were not read. */
export const TOO_LONG = 'longer than 4 MiB';
/** The reason for a bad record whose quote is still open after 1 MiB, or at the end of the file. */
export const UNCLOSED = 'a quote is not closed';

const NOT_READABLE = {
  unclosed: UNCLOSED,
  overlong: TOO_LONG,
} as const;

/** How one file's fields become values: its own columns, and their indexes in the manifest. */
interface CsvLayout {
  readonly delimiter: string;
  readonly encoding: Encoding;
  /** Fields read per record; further fields are dropped. */
  readonly width: number;
  /** For each column of the manifest, the index of this file's field, or -1; null when the columns are equal. */
  readonly fieldOf: readonly number[] | null;
  readonly columns: number;
  readonly email: number;
  readonly domain: number;
  readonly linkedinUrl: number;
  /** By the index of a key's column: those whose names differ from it in case only. Null without any. */
  readonly twins: ReadonlyMap<number, readonly number[]> | null;
  /** Null for a job that uses no column of a person. */
  readonly person: Readonly<Partial<Record<PersonColumn, number>>> | null;
}

export function layoutOf(manifest: InputManifest, file: number): CsvLayout {
  const header = manifest.files[file]?.header ?? [];
  const { columns } = manifest;
  const keyAt = (key: KeyColumn | PersonColumn): number => {
    const name = manifest.files[file]?.keys[key] ?? null;
    return name === null ? -1 : columns.indexOf(name);
  };
  const twins = twinIndexes(manifest, header, Object.values(manifest.files[file]?.keys ?? {}));
  const wanted = PERSON_COLUMNS.filter((key) => manifest.keyName[key] !== undefined);
  const same = header.length === columns.length && header.every((name, index) => name === columns[index]);
  return {
    delimiter: manifest.files[file]?.delimiter ?? ',',
    encoding: manifest.files[file]?.encoding ?? 'utf-8',
    width: header.length,
    fieldOf: same ? null : columns.map((name) => header.indexOf(name)),
    columns: columns.length,
    email: keyAt('email'),
    domain: keyAt('domain'),
    linkedinUrl: keyAt('linkedin_url'),
    twins,
    person: wanted.length === 0 ? null : Object.fromEntries(wanted.map((key) => [key, keyAt(key)])),
  };
}

/** The columns that stand in for a key's column in rows where that one is blank, as indexes of the manifest's columns; null without any. */
export function twinIndexes(
  { columns }: Pick<InputManifest, 'columns'>,
  header: readonly string[],
  keys: readonly (string | null | undefined)[],
): ReadonlyMap<number, readonly number[]> | null {
  const found = keys.flatMap((name) => {
    const twins = name === null || name === undefined ? [] : twinsOf(name, header);
    return twins.length === 0 ? [] : [[columns.indexOf(name ?? ''), twins.map((twin) => columns.indexOf(twin))] as const];
  });
  return found.length === 0 ? null : new Map(found);
}

/** The cell of a key's column; where it is blank, that of a column whose name differs in case only. @param at -1 for none */
export function keyCell(values: readonly string[], at: number, twins: ReadonlyMap<number, readonly number[]> | null): string {
  const cell = values[at] ?? '';
  if (twins === null || cell.trim() !== '') return cell;
  const other = twins.get(at)?.find((index) => (values[index] ?? '').trim() !== '');
  return other === undefined ? cell : (values[other] ?? '');
}

/** Input records, in batches with a limit on cells too. */
export async function* readCsvRecords(framed: readonly FramedRecord[], layout: CsvLayout): AsyncGenerator<InputRecord[], void, void> {
  const size = Math.max(1, Math.floor(MAX_BATCH_CELLS / Math.max(1, layout.columns)));
  for (let from = 0; from < framed.length; from += size) {
    const part = framed.length <= size ? framed : framed.slice(from, from + size);
    const quoted = part.filter(({ kind }) => kind === 'quoted' || kind === 'dirty');
    const read =
      quoted.length === 0
        ? []
        : await readQuoted(
            quoted.map(({ text }) => text),
            quoted.map(({ kind }) => kind === 'quoted'),
            layout.delimiter,
          );
    let next = 0;
    yield part.map((record) => {
      switch (record.kind) {
        case 'plain':
          return toRecord(record, record.text.split(layout.delimiter, layout.width + 1), layout);
        case 'quoted':
        case 'dirty':
          return toRecord(record, read[next++] ?? [], layout);
        case 'unclosed':
          return toRecord(record, record.text.split(layout.delimiter, layout.width), layout);
        case 'overlong':
          return toRecord(record, wholeCells(record.text, layout).map(detached), layout);
        default:
          return record.kind satisfies never;
      }
    });
  }
}

/** The cells of an overlong record that end with a delimiter. Its last cell is cut off somewhere, maybe within quotes. */
function wholeCells(text: string, { delimiter, width }: Pick<CsvLayout, 'delimiter' | 'width'>): string[] {
  const cells: string[] = [];
  let from = 0;
  while (cells.length < width) {
    let end = from;
    if (text[from] === '"') {
      for (end = text.indexOf('"', from + 1); end !== -1 && text[end + 1] === '"'; end = text.indexOf('"', end + 2));
      if (end === -1) break;
      end += 1;
    }
    const next = text.indexOf(delimiter, end);
    if (next === -1) break;
    const cell = text.slice(from, next);
    cells.push(end > from && next === end ? cell.slice(1, -1).replaceAll('""', '"') : cell);
    from = next + delimiter.length;
  }
  return cells;
}

function toRecord(record: FramedRecord, fields: string[], layout: CsvLayout): InputRecord {
  const { kind, end } = record;
  const surplus = fields.length > layout.width && hasSurplus(record, fields, layout);
  const values = toValues(fields, layout);
  let bad: string | null = null;
  if (kind === 'unclosed' || kind === 'overlong') bad = NOT_READABLE[kind];
  else if (!record.valid) bad = `not valid ${layout.encoding}`;
  // A bad row has no keys: its cells may be in the wrong columns.
  const keyed = bad === null;
  const read: InputRecord = {
    file: end.file,
    line: record.line,
    end,
    values,
    json: null,
    email: keyed ? keyCell(values, layout.email, layout.twins) : '',
    domain: keyed ? keyCell(values, layout.domain, layout.twins) : '',
    linkedinUrl: keyed ? keyCell(values, layout.linkedinUrl, layout.twins) : '',
    bad,
    raw: keyed ? null : kind === 'overlong' ? detached(record.text.slice(0, MAX_RAW_CHARS)) : record.text.slice(0, MAX_RAW_CHARS),
    surplus: keyed && surplus,
  };
  const person = layout.person === null ? null : personCells(layout.person, (at) => (keyed ? keyCell(values, at ?? -1, layout.twins) : ''));
  return person === null ? read : { ...read, person };
}

/**
 * Spreadsheets write empty fields to the right of a table, which are no loss. In a plain record, the text after the first surplus field is
 * not split yet.
 */
function hasSurplus({ kind, text }: FramedRecord, fields: readonly string[], { delimiter, width }: CsvLayout): boolean {
  if (kind !== 'plain' || fields[width] !== '') return fields.some((field, index) => index >= width && field !== '');
  // A hostile line has a million delimiters. So this searches for another character, and does not split the line.
  let at = fields.reduce((sum, field) => sum + field.length + delimiter.length, 0);
  while (text.startsWith(delimiter, at)) at += delimiter.length;
  return at < text.length;
}

function toValues(fields: string[], layout: CsvLayout): string[] {
  if (layout.fieldOf !== null) {
    // A surplus field must not land in a column that this file lacks.
    return layout.fieldOf.map((field) => (field === -1 ? '' : (fields[field] ?? '')));
  }
  if (fields.length > layout.width) fields.length = layout.width;
  while (fields.length < layout.columns) fields.push('');
  return fields;
}
