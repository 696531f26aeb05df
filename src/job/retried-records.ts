import { InputError } from '../errors.ts';
import type { Readable } from '../reader/pieces.ts';
import { readRecords } from '../reader/read-records.ts';
import type { FinishedError, FinishedPosition, InputManifest, InputRecord, Position } from '../reader/types.ts';
import { WrittenRows } from '../reader/written-rows.ts';

/** What a finished run has written. */
export interface FinishedFiles {
  readonly output: Readable;
  readonly errors: Readable;
  /** csv and tsv: with a header, and line ends within quotes. */
  readonly delimited: boolean;
}

const BEGINNING: FinishedPosition = { rows: 0, offset: 0, frame: null, errors: 0 };

/**
 * The records that have a row in a finished output, each with that row and its line in the errors file; from any `end`
 * of theirs on, like `readRecords`.
 * @throws InputError also when input and output do not fit together
 */
export async function* retriedRecords(files: FinishedFiles, manifest: InputManifest, from: Position | null, signal?: AbortSignal): AsyncGenerator<InputRecord[], void, void> {
  const at = from?.finished ?? BEGINNING;
  const rows = new WrittenRows(files.output, files.delimited, at, signal);
  const errors = new ErrorLines(files.errors, at.errors, signal);
  let written = at.rows;
  try {
    if (from === null && files.delimited) await rows.next();
    await errors.next();
    for await (const batch of readRecords(manifest, from, signal)) {
      const merged: InputRecord[] = [];
      for (const record of batch) {
        const row = await rows.next();
        if (row === null) break;
        written++;
        const error = errors.isOf(manifest, record) ? errors.current : null;
        if (error !== null) await errors.next();
        merged.push({ ...record, end: { ...record.end, finished: { rows: written, ...rows.position, errors: errors.offset } }, finished: { row, error } });
      }
      if (merged.length > 0) yield merged;
      // A pilot's output ends before its input.
      if (merged.length < batch.length) break;
    }
    if (errors.current !== null || (await rows.next()) !== null) {
      throw new InputError('input_changed', `the output has ${written} rows that fit the input, and more that do not: the input changed in its middle since it was read`, { hint: 'Put the input back as it was, or start over with millrace run --fresh: what was paid for is in the ledger.' });
    }
  } finally {
    await rows.close();
    await errors.close();
  }
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
    const { file, line: at, step, code } = JSON.parse(line) as { file: string | null; line: number; step: string | null; code: string };
    this.#current = { line, step, code, file, at };
  }

  close(): Promise<void> {
    return this.#lines.close();
  }
}
