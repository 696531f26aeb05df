/** A file's bytes on their way through the splitter. */
import { createCodec, type Codec } from './encoding.ts';
import { readPieces, type PieceOptions, type Readable } from './pieces.ts';
import { Splitter } from './splitter.ts';
import type { Encoding, Frame, Position } from './types.ts';

export interface SplittableFile extends Readable {
  readonly encoding: Encoding;
  /** The delimiter's text, or null where quotes mean nothing (jsonl). */
  readonly delimiter: string | null;
}

/** A splitter that holds new bytes: whoever gets it takes all whole records out. */
export interface Filled {
  readonly splitter: Splitter;
  readonly codec: Codec;
  readonly frames: FrameTrack;
}

/**
 * Fills a splitter with the file from `from` on, chunk by chunk. Throws what reading the bytes throws, after all that
 * stands before that place was handed over.
 */
export async function* splitFile(file: SplittableFile, from: Position, options: PieceOptions): AsyncGenerator<Filled, void, void> {
  const codec = createCodec(file.encoding);
  const splitter = new Splitter({
    delimiter: file.delimiter === null ? null : file.delimiter.charCodeAt(0),
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
      // Members may be tiny and chunks small: batches are made of what adds up to a chunk.
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

/** Which frame an offset lies in: the last that begins at or before it. Offsets are asked for in ascending order. */
export class FrameTrack {
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
