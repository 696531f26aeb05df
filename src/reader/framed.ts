/** A file as framed records: text, kind and the position after each. Knows neither columns nor JSON. */
import { isAscii } from 'node:buffer';
import { createCodec, type Codec } from './encoding.ts';
import { BATCH_RECORDS } from './limits.ts';
import { readPieces, type PieceOptions, type Readable } from './pieces.ts';
import type { RecordKind } from './record-kind.ts';
import { Splitter } from './splitter.ts';
import type { Encoding, Frame, Position } from './types.ts';

export interface FramedRecord {
  readonly kind: RecordKind;
  /** Without the line end; of an overlong record only its head. */
  readonly text: string;
  /** False: not valid in the file's encoding; what was wrong is U+FFFD in `text`. */
  readonly valid: boolean;
  readonly line: number;
  readonly end: Position;
}

export interface FramableFile extends Readable {
  readonly encoding: Encoding;
  /** The delimiter's text, or null where quotes mean nothing (jsonl). */
  readonly delimiter: string | null;
}

/**
 * The file's records from `from` on, in small batches. Blank lines are none.
 * Throws what reading the bytes throws, after all whole records before that place were yielded.
 */
export async function* readFramed(file: FramableFile, from: Position, options: PieceOptions): AsyncGenerator<FramedRecord[], void, void> {
  const codec = createCodec(file.encoding);
  const splitter = new Splitter({
    delimiter: file.delimiter === null ? null : file.delimiter.charCodeAt(0),
    measure: codec.measure,
    offset: from.offset,
    line: from.line,
  });
  const frames = new FrameTrack(from.frame);
  let gathered = 0;
  let failure: { readonly error: unknown } | null = null;
  const pieces = readPieces(file, from, options);
  try {
    for (;;) {
      let piece;
      try {
        piece = await pieces.next();
      } catch (error) {
        failure = { error };
        break;
      }
      if (piece.done === true) break;
      frames.note(piece.value.frame);
      // Members may be tiny and chunks small: batches are made of what adds up to a chunk.
      const { bytes } = piece.value;
      for (let at = 0; at < bytes.length; at += options.chunkBytes) {
        const slice = bytes.subarray(at, at + options.chunkBytes);
        splitter.push(codec.convert(slice));
        gathered += slice.length;
        if (gathered < options.chunkBytes) continue;
        gathered = 0;
        yield* drain(splitter, codec, from.file, frames);
      }
    }
    if (failure === null) {
      splitter.push(codec.flush());
      splitter.finish();
    }
    yield* drain(splitter, codec, from.file, frames);
    if (failure !== null) throw failure.error;
  } finally {
    await pieces.return();
  }
}

/** What the splitter holds whole, a few records at a time and only when asked for: a record that is made early lives long. */
function* drain(splitter: Splitter, codec: Codec, file: number, frames: FrameTrack): Generator<FramedRecord[], void, void> {
  const { held } = splitter;
  const allAscii = isAscii(held);
  const allValid = allAscii || codec.valid(held);
  const { buffer } = splitter;
  let batch: FramedRecord[] = [];
  while (splitter.next()) {
    const { kind, start, end } = splitter;
    const overlong = kind === 'overlong';
    const text = overlong ? codec.text(splitter.head, 0, splitter.head.length) : allAscii ? buffer.toString('latin1', start, end) : codec.text(buffer, start, end);
    const valid = allValid || overlong || codec.valid(buffer.subarray(start, end));
    const offset = splitter.nextOffset;
    batch.push({ kind, text, valid, line: splitter.line, end: { file, line: splitter.nextLine, offset, frame: frames.at(offset) } });
    if (batch.length < BATCH_RECORDS) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** Which frame an offset lies in: the last that begins at or before it. Offsets are asked for in ascending order. */
class FrameTrack {
  #current: Frame | null;
  #coming: Frame[] = [];
  #next = 0;

  constructor(current: Frame | null) {
    this.#current = current;
  }

  note(frame: Frame | null): void {
    if (frame === null || frame === this.#last()) return;
    this.#coming.push(frame);
  }

  at(offset: number): Frame | null {
    for (let next = this.#coming[this.#next]; next !== undefined && next.offset <= offset; next = this.#coming[this.#next]) {
      this.#current = next;
      this.#next += 1;
    }
    if (this.#next > 0 && this.#next === this.#coming.length) {
      this.#coming = [];
      this.#next = 0;
    }
    return this.#current;
  }

  #last(): Frame | null {
    return this.#coming.at(-1) ?? this.#current;
  }
}
