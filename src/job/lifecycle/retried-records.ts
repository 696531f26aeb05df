import { InputError } from '../../util/errors.ts';
import type { Readable } from '../../formats/compression/chunks.ts';
import { readRecords } from '../../formats/read-records.ts';
import type { FinishedError, FinishedPosition, InputManifest, InputRecord, Position } from '../../formats/input-record.ts';
import { WrittenRows, type WrittenRowReader } from '../../formats/written-rows.ts';
import type { Retry } from '../../checkpoint/checkpoint-file.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import type { RecordResult } from '../../processor/result.ts';
import { rowFormat } from '../../writer/row-format.ts';
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
  const files: FinishedFiles = {
    output: { uri: job.output.uri, path: paths.output, size: result.bytes, digest: result.versions?.output ?? result.sha256, compression },
    errors: {
      uri: paths.errors,
      path: paths.errors,
      size: result.errorBytes,
      digest: result.versions?.errors ?? result.errorsSha256,
      compression: 'none',
    },
    format,
  };
  const rows = rowFormat(job, manifest);
  return { records: (from, signal) => retriedRecords(files, manifest, from, signal), rowOf: (record, found) => rows.row(record, found) };
}

/** The files that a finished run has written. */
interface FinishedFiles {
  readonly output: Readable;
  readonly errors: Readable;
  readonly format: CompiledJob['output']['format'];
}

const BEGINNING: FinishedPosition = { rows: 0, offset: 0, frame: null, errors: 0 };

/**
 * The records that have a row in a finished output, each with its row and its line in the errors file. Like `readRecords` it can begin at
 * the `end` of any of them.
 * @throws InputError also when input and output do not fit together
 */
async function* retriedRecords(
  files: FinishedFiles,
  manifest: InputManifest,
  from: Position | null,
  signal?: AbortSignal,
): AsyncGenerator<InputRecord[], void, void> {
  const at = from?.finished ?? BEGINNING;
  // csv and tsv have a header, and line ends within quotes.
  const isDelimited = files.format === 'csv' || files.format === 'tsv';
  const rows = await openRows(files, isDelimited, at, signal);
  const errors = new ErrorLines(files.errors, at.errors, signal);
  let written = at.rows;
  try {
    if (from === null && isDelimited) await rows.next();
    await errors.next();
    for await (const batch of readRecords(manifest, from, signal)) {
      const merged: InputRecord[] = [];
      for (const record of batch) {
        const row = await rows.next();
        if (row === null) break;
        written++;
        const error = errors.isOf(manifest, record) ? errors.current : null;
        if (error !== null) await errors.next();
        merged.push({
          ...record,
          end: { ...record.end, finished: { rows: written, ...rows.position, errors: errors.offset } },
          finished: { row, error },
        });
      }
      if (merged.length > 0) yield merged;
      // A pilot's output ends before its input.
      if (merged.length < batch.length) break;
    }
    if (errors.current !== null || (await rows.next()) !== null) {
      throw new InputError(
        'input_changed',
        `the output has ${written} rows that fit the input, and more that do not: the input changed in its middle since it was read`,
        { hint: 'Put the input back as it was, or start over with millrace run --fresh: what was paid for is in the ledger.' },
      );
    }
  } finally {
    await rows.close();
    await errors.close();
  }
}

async function openRows(
  { output, format }: FinishedFiles,
  isDelimited: boolean,
  at: FinishedPosition,
  signal: AbortSignal | undefined,
): Promise<WrittenRowReader> {
  if (format !== 'parquet') return new WrittenRows(output, isDelimited, at, signal);
  const { WrittenParquetRows } = await import('../../formats/parquet/written-rows.ts');
  return new WrittenParquetRows(output, at, signal);
}

/** The lines of an errors file, one at a time. */
class ErrorLines {
  readonly #lines: WrittenRows;
  #current: (FinishedError & { readonly file: string | null; readonly at: number }) | null = null;
  /** Where the current line begins, or the end of the file. */
  #offset: number;

  constructor(file: Readable, offset: number, signal: AbortSignal | undefined) {
    this.#lines = new WrittenRows(file, false, { offset, frame: null }, signal);
    this.#offset = offset;
  }

  get current(): FinishedError | null {
    return this.#current;
  }

  get offset(): number {
    return this.#offset;
  }

  isOf(manifest: InputManifest, record: InputRecord): boolean {
    return this.#current !== null && this.#current.at === record.line && this.#current.file === (manifest.files[record.file]?.uri ?? null);
  }

  async next(): Promise<void> {
    this.#offset = this.#lines.position.offset;
    const line = (await this.#lines.next())?.toString().trimEnd() ?? null;
    if (line === null) {
      this.#current = null;
      return;
    }
    const {
      file,
      line: at,
      step,
      code,
      provider,
    } = JSON.parse(line) as Omit<FinishedError, 'line'> & {
      readonly file: string | null;
      readonly line: number;
    };
    this.#current = { line, step, code, file, at, ...(provider === undefined ? {} : { provider }) };
  }

  close(): Promise<void> {
    return this.#lines.close();
  }
}
