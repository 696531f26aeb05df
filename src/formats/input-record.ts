/** The types that the reader gives to the rest of the program. Types only. */

import type { InputFormat } from '../sources/file-names.ts';
import type { Cell, ColumnType } from './parquet/column-type.ts';

export type { InputFormat };
export type Compression = 'none' | 'gzip' | 'zstd';
/** A name of the WHATWG Encoding Standard in lower case, such as `utf-8`, `utf-16le`, `windows-1252`, `shift_jis`. */
export type Encoding = string;

/** The keys of a lookup. */
export type KeyColumn = 'email' | 'domain' | 'linkedin_url';
/** Columns of further keys, for jobs that look people up by name or phone. */
export type PersonColumn = 'name' | 'first_name' | 'last_name' | 'company' | 'phone' | 'country';
/** The name of each key's column, null without one. Those of a person are left out of jobs that do not use them. */
export type KeyNames = Readonly<Record<KeyColumn, string | null>> & Readonly<Partial<Record<PersonColumn, string | null>>>;

/**
 * A position where reading can start: the first byte of a record, or the end of a file. `offset` counts decompressed bytes in the file's
 * own encoding. For an archive, `frame` is the last gzip member or zstd frame that begins at or before `offset`.
 */
export interface Position {
  /** Index into the manifest's files. */
  readonly file: number;
  /** Physical line, from 1. */
  readonly line: number;
  readonly offset: number;
  readonly frame: Frame | null;
  /** `retry` only: the position of this record's row in the finished output. */
  readonly finished?: FinishedPosition;
}

/** A position in the output of a finished run, and in its errors file. */
export interface FinishedPosition {
  /** The number of rows before it, without the header. */
  readonly rows: number;
  /** In decompressed bytes, as in `Position`. */
  readonly offset: number;
  readonly frame: Frame | null;
  /** The number of bytes of the errors file before it. */
  readonly errors: number;
  /** The same of the file of open rows; left out while it is 0. */
  readonly open?: number;
}

/** The start of a gzip member or zstd frame, in compressed and in decompressed bytes. */
export interface Frame {
  readonly at: number;
  readonly offset: number;
}

/** One input file as it was when the job first started. Frozen in the checkpoint. */
export interface InputFile {
  /** The name that the user knows: a path, an `s3://` URI, or `-`. */
  readonly uri: string;
  /** The location of its bytes: an absolute path (for `-`: the spool), or the `s3://` URI. */
  readonly path: string;
  /** Bytes. Data that is appended later is not read. */
  readonly size: number;
  /** Identifies its content: SHA-256 (hex) over its first and last 64 KiB, or an object's ETag. */
  readonly digest: string;
  readonly compression: Compression;
  readonly encoding: Encoding;
  /** CSV and TSV only. */
  readonly delimiter: string | null;
  /** Its own header, in order (tables); empty for JSONL. */
  readonly header: readonly string[];
  /**
   * The key columns of this file: exports of one source may differ from each other. For JSONL, those of its first objects; null for those
   * of the whole input.
   */
  readonly keys: KeyNames;
  /** The position of the first record. */
  readonly start: Position;
  /** Parquet only: its records, whose numbers are the offsets of positions in it. */
  readonly rows?: number;
}

/** The whole input, frozen at the first start of a job. It is plain JSON in the checkpoint. */
export interface InputManifest {
  readonly format: InputFormat;
  readonly files: readonly InputFile[];
  /** The union of the files' headers in order of first occurrence. For JSONL, the union of top-level keys, or empty when not requested. */
  readonly columns: readonly string[];
  /** The column of each key, by name. Where files differ, the best name of all. */
  readonly keyName: KeyNames;
  /** How its first table with records is written; left out for commas without a byte order mark. An output follows it. */
  readonly table?: TableShape;
  /** Parquet only: the type of each column, or null where files differ in it. */
  readonly types?: readonly (ColumnType | null)[];
}

/** How a table is written. */
export interface TableShape {
  readonly delimiter: string;
  /** True when the file begins with a byte order mark. */
  readonly bom: boolean;
}

/** One input record. Exactly one of `values` and `json` has its content. */
export interface InputRecord {
  readonly file: number;
  /** The record's first physical line, from 1. */
  readonly line: number;
  /** The position of the next record: reading from there continues after this one. */
  readonly end: Position;
  /** Tables: one value per column of the manifest ('' when absent). For a bad row, its one physical line, split at delimiters. */
  readonly values: readonly string[] | null;
  /** Parquet only: the values as they are stored, one per column of the manifest. Text where files differ in its type. */
  readonly cells?: readonly Cell[];
  /** JSONL: the record's text, verbatim without the line end. For a bad row, a JSON string literal of the line. */
  readonly json: string | null;
  /** JSONL, only for good rows and on request: the parsed `json`. */
  readonly object?: Record<string, unknown>;
  /** The values of the key columns, unchanged. In JSONL as `keyText` has them. */
  readonly email: string;
  readonly domain: string;
  readonly linkedinUrl: string;
  /** Only where the job looks people up by name or phone. */
  readonly person?: PersonCells;
  /** The reason in a few words when the record could not be read. */
  readonly bad: string | null;
  /** Bad rows only: the line, at most 4 KiB. */
  readonly raw: string | null;
  /** CSV and TSV: it has text beyond the header's last column, which is not in `values`. */
  readonly surplus: boolean;
  /** `retry` only: the result of the previous run. */
  readonly finished?: FinishedRow;
}

/** The place of a record in the input: its file, and its first line. */
export type RecordOrigin = Pick<InputRecord, 'file' | 'line'>;

/** Cells of a person, unchanged; a name from two columns has a space between them. */
export interface PersonCells {
  readonly name: string;
  /** The company's name. */
  readonly company: string;
  readonly phone: string;
  /** The country of a national phone number. */
  readonly country: string;
}

export interface FinishedRow {
  /** Line end included. */
  readonly row: Buffer;
  /** Its line in the errors file; null when it has none. */
  readonly error: FinishedError | null;
  /** Its line in the file of open rows; null when it has none. */
  readonly open: FinishedOpen | null;
}

/** A row that lacks a field, because a provider gave no answer. It has what the totals of the run counted of the row. */
export interface FinishedOpen {
  readonly line: string;
  readonly outcome: string;
  /** `company` for a record that was found by its domain. */
  readonly kind: 'person' | 'company';
  /** The verdict of its address; null without one. */
  readonly verdict: string | null;
  /** The steps that were asked, in order. */
  readonly steps: readonly FinishedStep[];
}

export interface FinishedStep {
  readonly step: string;
  /** The key of an open step; null for one that lacks nothing. */
  readonly key: string | null;
  /** The wanted fields that the row lacks. */
  readonly missing: readonly string[];
  /** In the order in which they were asked. `fields`: those of the row that are from the provider. `code`: why it gave no answer. */
  readonly providers: readonly { readonly name: string; readonly end: string; readonly fields?: number; readonly code?: string }[];
}

/** `step` is null when the record is invalid, so that no call can be made for it. */
export interface FinishedError {
  readonly line: string;
  readonly step: string | null;
  readonly code: string;
  /** The first provider that gave no answer, where the job names its providers. */
  readonly provider?: string;
}
