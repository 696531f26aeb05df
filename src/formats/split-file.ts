/** Sends a file's bytes through the splitter. */
import type { Codec } from './encodings/codec.ts';
import { createCodec } from './encodings/encoding.ts';
import { readPieces, type PieceOptions, type Readable } from './compression/chunks.ts';
import { Splitter } from './csv/splitter.ts';
import type { Encoding, Frame, Position } from './input-record.ts';

export interface SplittableFile extends Readable {
  readonly encoding: Encoding;
  /** The delimiter, or null for a format without quoting (JSONL). */
  readonly delimiter: string | null;
  /** The names of its columns; empty for a file without a header, or before it is known. */
  readonly header?: readonly string[];
}

/** A splitter with new bytes. Its receiver must take out all complete records. */
export interface Filled {
  readonly splitter: Splitter;
  readonly codec: Codec;
  readonly frames: FrameTrack;
}

/**
 * Fills a splitter with the file from `from` on, chunk by chunk. Errors of reading are thrown after everything before them was delivered.
 */
export async function* splitFile(file: SplittableFile, from: Position, options: PieceOptions): AsyncGenerator<Filled, void, void> {
  const codec = createCodec(file.encoding);
  const splitter = new Splitter({
    delimiter: file.delimiter === null ? null : file.delimiter.charCodeAt(0),
    columns: file.header?.length ?? 0,
    measure: codec.measure,
    offset: from.offset,
    line: from.line,
  });
  const frames = new FrameTrack(from.frame);
  const filled: Filled = { splitter, codec, frames };
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
      // Members may be tiny and chunks small, so this collects up to a chunk.
      const { bytes } = piece.value;
      for (let at = 0; at < bytes.length; at += options.chunkBytes) {
        const slice = bytes.subarray(at, at + options.chunkBytes);
        splitter.push(codec.convert(slice));
        gathered += slice.length;
        if (gathered < options.chunkBytes) continue;
        gathered = 0;
        yield filled;
      }
    }
    if (failure === null) {
      splitter.push(codec.flush());
      splitter.finish();
    }
    yield filled;
    if (failure !== null) throw failure.error;
  } finally {
    await pieces.return();
  }
}

/** Finds the frame of an offset: the last frame that begins at or before it. Offsets must be given in ascending order. */
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
