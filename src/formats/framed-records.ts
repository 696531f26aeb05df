/** Frames a file into records: text, kind and the position after each. Knows neither columns nor JSON. */
import { isAscii } from 'node:buffer';
import { BATCH_RECORDS } from './limits.ts';
import type { PieceOptions } from './compression/chunks.ts';
import type { RecordKind } from './csv/record-kind.ts';
import { splitFile, type Filled, type SplittableFile } from './split-file.ts';
import type { Position } from './input-record.ts';

export interface FramedRecord {
  readonly kind: RecordKind;
  /** Without the line end. For an overlong record only its head, at most 4 MiB. */
  readonly text: string;
  /** False when the record is not valid in the file's encoding: invalid bytes are U+FFFD in `text`. */
  readonly valid: boolean;
  readonly line: number;
  readonly end: Position;
}

/** A copy of the text. A slice in V8 would keep the megabytes alive from which it was cut. */
export function detached(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le');
}

/**
 * The file's records from `from` on, in small batches. Blank lines are skipped. Errors of reading are thrown after all complete records
 * before them.
 */
export async function* readFramed(file: SplittableFile, from: Position, options: PieceOptions): AsyncGenerator<FramedRecord[], void, void> {
  for await (const filled of splitFile(file, from, options)) yield* drain(filled, from.file);
}

/** Makes the complete records of the splitter, a few at a time and on demand: a record that is made early lives long. */
function* drain({ splitter, codec, frames }: Filled, file: number): Generator<FramedRecord[], void, void> {
  const { held } = splitter;
  const allAscii = isAscii(held);
  const allValid = allAscii || codec.valid(held);
  const { buffer } = splitter;
  let batch: FramedRecord[] = [];
  while (splitter.next()) {
    const { kind, start, end } = splitter;
    const overlong = kind === 'overlong';
    const text = overlong
      ? codec.text(splitter.head, 0, splitter.head.length)
      : allAscii
        ? buffer.toString('latin1', start, end)
        : codec.text(buffer, start, end);
    const valid = allValid || overlong || codec.valid(buffer.subarray(start, end));
    const offset = splitter.nextOffset;
    batch.push({ kind, text, valid, line: splitter.line, end: { file, line: splitter.nextLine, offset, frame: frames.at(offset) } });
    if (batch.length < BATCH_RECORDS) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
