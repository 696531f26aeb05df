import { InputError } from '../../util/errors.ts';
import type { Readable } from '../../formats/compression/chunks.ts';
import { readRecords } from '../../formats/read-records.ts';
import type { FinishedError, FinishedOpen, FinishedPosition, InputManifest, InputRecord, Position } from '../../formats/input-record.ts';
import { WrittenRows, type WrittenRowReader } from '../../formats/written-rows.ts';
import type { Retry } from '../../checkpoint/checkpoint-file.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import type { RecordResult } from '../../processor/result.ts';
import { rowFormat } from '../../writer/row-format.ts';
import type { SideFile } from '../../definition/output-shape.ts';
import { finishedFile } from '../../writer/row-files.ts';
import type { JobPaths } from './paths.ts';

/** The records that a retry reads in place of the input, and how it compares rows. */
export interface RetrySource {
  /** The records that have a row, with that row, from a position on. */
  readonly records: (from: Position | null, signal: AbortSignal) => AsyncGenerator<InputRecord[], void, void>;
  /** A result as a row of the output. */
  readonly rowOf: (record: InputRecord, result: RecordResult) => Buffer;
}

/** The source of a retry of this job. */
export function retrySource(job: CompiledJob, paths: JobPaths, manifest: InputManifest, { before: { result } }: Retry): RetrySource {
  const { compression, format } = job.output;
  const { bytes, sha256, version } = finishedFile(result, 'output');
  const besides = (which: SideFile): Readable | null => {
    const { bytes: size, sha256: sha, version: stored } = finishedFile(result, which);
    return size === 0 ? null : { uri: paths[which], path: paths[which], size, digest: stored ?? sha, compression: 'none' };
  };
  const files: WrittenFiles = {
    output: { uri: job.output.uri, path: paths.output, size: bytes, digest: version ?? sha256, compression },
    errors: besides('errors'),
    open: besides('open'),
    format,
  };
  const rows = rowFormat(job, manifest);
  return { records: (from, signal) => retriedRecords(files, manifest, from, signal), rowOf: (record, found) => rows.row(record, found) };
}

/** The files that a finished run has written; null for one without a line. */
interface WrittenFiles {
  readonly output: Readable;
  readonly errors: Readable | null;
  readonly open: Readable | null;
  readonly format: CompiledJob['output']['format'];
}

const BEGINNING: FinishedPosition = { rows: 0, offset: 0, frame: null, errors: 0 };

/**
 * The records that have a row in a finished output, each with its row and its lines in the files beside it. Like `readRecords` it can
 * begin at the `end` of any of them.
 * @throws InputError also when input and output do not fit together
 */
async function* retriedRecords(
  files: WrittenFiles,
  manifest: InputManifest,
  from: Position | null,
  signal?: AbortSignal,
): AsyncGenerator<InputRecord[], void, void> {
  const at = from?.finished ?? BEGINNING;
  // csv and tsv have a header, and line ends within quotes.
  const isDelimited = files.format === 'csv' || files.format === 'tsv';
  const rows = await openRows(files, isDelimited, at, signal);
  const errors = new LinesBeside(files.errors, at.errors, readError, signal);
  const open = new LinesBeside(files.open, at.open ?? 0, readOpen, signal);
  let written = at.rows;
  try {
    if (from === null && isDelimited) await rows.next();
    await errors.next();
    await open.next();
    for await (const batch of readRecords(manifest, from, signal)) {
      const merged: InputRecord[] = [];
      for (const record of batch) {
        const row = await rows.next();
        if (row === null) break;
        written++;
        const finished = { row, error: await errors.take(manifest, record), open: await open.take(manifest, record) };
        const before = { errors: errors.offset, ...(open.offset === 0 ? {} : { open: open.offset }) };
        merged.push({ ...record, end: { ...record.end, finished: { rows: written, ...rows.position, ...before } }, finished });
      }
      if (merged.length > 0) yield merged;
      // A pilot's output ends before its input.
      if (merged.length < batch.length) break;
    }
    if (!errors.isAtEnd || !open.isAtEnd || (await rows.next()) !== null) {
      throw new InputError(
        'input_changed',
        `the output has ${written} rows that fit the input, and more that do not: the input changed in its middle since it was read`,
        { hint: 'Put the input back as it was, or start over with millrace run --fresh: what was paid for is in the ledger.' },
      );
    }
  } finally {
    await rows.close();
    await errors.close();
    await open.close();
  }
}

async function openRows(
  { output, format }: WrittenFiles,
  isDelimited: boolean,
  at: FinishedPosition,
  signal: AbortSignal | undefined,
): Promise<WrittenRowReader> {
  if (format !== 'parquet') return new WrittenRows(output, isDelimited, at, signal);
  const { WrittenParquetRows } = await import('../../formats/parquet/written-rows.ts');
  return new WrittenParquetRows(output, at, signal);
}

/** The record that a line beside the output is about. */
interface LineOrigin {
  readonly file: string | null;
  readonly line: number;
}

/** The lines of a file beside an output, one at a time, in the order of the records. */
class LinesBeside<T> {
  readonly #lines: WrittenRows | null;
  readonly #read: (line: string, parsed: object) => T;
  #current: { readonly origin: LineOrigin; readonly content: T } | null = null;
  /** Where the current line begins, or the end of the file. */
  #offset: number;

  /** @param file null when it has no line @param read its own text, without the line end, and that as an object */
  constructor(file: Readable | null, offset: number, read: (line: string, parsed: object) => T, signal: AbortSignal | undefined) {
    this.#lines = file === null ? null : new WrittenRows(file, false, { offset, frame: null }, signal);
    this.#read = read;
    this.#offset = offset;
  }

  get isAtEnd(): boolean {
    return this.#current === null;
  }

  get offset(): number {
    return this.#offset;
  }

  /** The line of a record; null when it has none. */
  async take(manifest: InputManifest, { file, line }: InputRecord): Promise<T | null> {
    const current = this.#current;
    if (current === null || current.origin.line !== line) return null;
    if (current.origin.file !== (manifest.files[file]?.uri ?? null)) return null;
    await this.next();
    return current.content;
  }

  async next(): Promise<void> {
    if (this.#lines === null) return;
    this.#offset = this.#lines.position.offset;
    const text = (await this.#lines.next())?.toString().trimEnd() ?? null;
    if (text === null) {
      this.#current = null;
      return;
    }
    const parsed = JSON.parse(text) as LineOrigin;
    this.#current = { origin: { file: parsed.file, line: parsed.line }, content: this.#read(text, parsed) };
  }

  async close(): Promise<void> {
    await this.#lines?.close();
  }
}

function readError(line: string, parsed: object): FinishedError {
  const { step, code, provider } = parsed as Omit<FinishedError, 'line'>;
  return { line, step, code, ...(provider === undefined ? {} : { provider }) };
}

function readOpen(line: string, parsed: object): FinishedOpen {
  const { outcome, kind, verdict, steps } = parsed as Omit<FinishedOpen, 'line'>;
  return { line, outcome, kind, verdict, steps };
}
