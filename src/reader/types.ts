/** What the reader hands to the rest of the program. Types only. */

export type InputFormat = 'csv' | 'tsv' | 'jsonl';
export type Compression = 'none' | 'gzip' | 'zstd';
/** A name of the WHATWG Encoding Standard in lower case, such as `utf-8`, `utf-16le`, `windows-1252`, `shift_jis`. */
export type Encoding = string;

/** The columns a lookup key can come from. */
export type KeyColumn = 'email' | 'domain' | 'linkedin_url';

/**
 * A place where reading can start: the first byte of a record, or the end of a file.
 * `offset` counts decompressed bytes as they stand in the file (before any change of encoding).
 * For an archive, `frame` is the last gzip member or zstd frame that begins at or before `offset`.
 */
export interface Position {
  /** Index into the manifest's files. */
  readonly file: number;
  /** Physical line, from 1. */
  readonly line: number;
  readonly offset: number;
  readonly frame: Frame | null;
  /** `retry` only: where the row of the record that begins here stands in the finished output. */
  readonly finished?: FinishedPosition;
}

/** A place in the output of a finished run, and in its errors file. */
export interface FinishedPosition {
  /** Rows before it, the header not counted. */
  readonly rows: number;
  /** In decompressed bytes, as in `Position`. */
  readonly offset: number;
  readonly frame: Frame | null;
  /** Bytes of the errors file before it. */
  readonly errors: number;
}

/** Where a gzip member or zstd frame begins, in compressed and in decompressed bytes. */
export interface Frame {
  readonly at: number;
  readonly offset: number;
}

/** One input file as it was when the job first started. Frozen in the checkpoint. */
export interface InputFile {
  /** As the user would name it: a path, an `s3://` uri, or `-`. */
  readonly uri: string;
  /** Where its bytes are: an absolute path (for `-`: the spool), or the `s3://` uri. */
  readonly path: string;
  /** Bytes; what is appended later is not read. */
  readonly size: number;
  /** Tells its content from another: SHA-256 (hex) over its first and last 64 KiB, or an object's ETag. */
  readonly digest: string;
  readonly compression: Compression;
  readonly encoding: Encoding;
  /** csv and tsv only. */
  readonly delimiter: string | null;
  /** Its own header, in order (csv and tsv); empty for jsonl. */
  readonly header: readonly string[];
  /** Which of its own columns holds which key: exports of one source need not agree with another's. Of jsonl, as its first objects have them; null: as those of the whole input do. */
  readonly keys: Readonly<Record<KeyColumn, string | null>>;
  /** The first record. */
  readonly start: Position;
}

/** The whole input, frozen at the first start of a job. Plain JSON: it is kept in the checkpoint. */
export interface InputManifest {
  readonly format: InputFormat;
  readonly files: readonly InputFile[];
  /** Union of the files' headers in order of first sight; for jsonl the union of top-level keys, or empty where not asked for. */
  readonly columns: readonly string[];
  /** Which column holds which key, by name; where files differ, the best name of all. */
  readonly keyName: Readonly<Record<KeyColumn, string | null>>;
}

/** One input record. Exactly one of `values` and `json` carries its content. */
export interface InputRecord {
  readonly file: number;
  /** The record's first physical line, from 1. */
  readonly line: number;
  /** Where the next record begins: reading from here yields everything after this one. */
  readonly end: Position;
  /** csv, tsv: one value a column of the manifest (absent: ''). For a bad row, its one physical line split plainly. */
  readonly values: readonly string[] | null;
  /** jsonl: the record's own text, verbatim without the line end; for a bad row, a JSON string literal of the line. */
  readonly json: string | null;
  /** jsonl, of a good row, for those who ask for it: what `json` says. */
  readonly object?: Record<string, unknown>;
  /** The values of the key columns, as they stand (jsonl: strings only; anything else is ''). */
  readonly email: string;
  readonly domain: string;
  readonly linkedinUrl: string;
  /** Set when the record could not be read: why, in a few words. */
  readonly bad: string | null;
  /** Bad rows only: the line as it stands, at most 4 KiB. */
  readonly raw: string | null;
  /** csv, tsv: it has text beyond the header's last column, which is in none of `values`. */
  readonly surplus: boolean;
  /** `retry` only: what the run before made of it. */
  readonly finished?: FinishedRow;
}

export interface FinishedRow {
  /** Line end included. */
  readonly row: Buffer;
  /** Its line in the errors file; null: it has none. */
  readonly error: FinishedError | null;
}

/** `step` null: the record is invalid, and nothing can be asked for it. */
export interface FinishedError {
  readonly line: string;
  readonly step: string | null;
  readonly code: string;
}
