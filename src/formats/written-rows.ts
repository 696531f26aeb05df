/** Reads the rows of a file that Millrace itself has written, verbatim: an output or an errors file. */
import { CHUNK_BYTES } from './limits.ts';
import { readPieces, type Readable } from './compression/chunks.ts';
import type { Position } from './input-record.ts';

const LINE_END = 0x0a;
const QUOTE = 0x22;

/** Rows of a finished output, in order. */
export interface WrittenRowReader {
  /** The position of the next row. Reading can start there. */
  readonly position: Pick<Position, 'offset' | 'frame'>;
  /** The next row, or null at the end. @throws the errors of reading the bytes */
  next(): Promise<Buffer | null>;
  close(): Promise<void>;
}

/**
 * Rows in order, with their line ends. In CSV and TSV a row ends at the first line end after an even number of quotes: every cell with a
 * quote is quoted, and its quotes are doubled (RFC 4180). `Splitter` does not serve here: it skips blank lines and cuts long records,
 * but these rows are copied verbatim.
 */
export class WrittenRows implements WrittenRowReader {
  readonly #pieces: ReturnType<typeof readPieces>;
  readonly #quoted: boolean;
  #held: Buffer = Buffer.alloc(0);
  /** The next row begins at `#start` in `#held`. Bytes before `#looked` were scanned, and contain `#odd` quotes since the row's start. */
  #start = 0;
  #looked = 0;
  #odd = false;
  /** The first quote at or after `#looked`; the length of `#held` when there is none. */
  #quote = 0;
  #position: Pick<Position, 'offset' | 'frame'>;

  /** @param quoted whether quotes may contain line ends @param from the position of a row's start */
  constructor(file: Readable, quoted: boolean, from: Pick<Position, 'offset' | 'frame'>, signal?: AbortSignal) {
    this.#pieces = readPieces(file, from, { chunkBytes: CHUNK_BYTES, signal });
    this.#quoted = quoted;
    this.#position = { offset: from.offset, frame: from.frame };
  }

  /** The position of the next row. Reading can start there. */
  get position(): Pick<Position, 'offset' | 'frame'> {
    return this.#position;
  }

  /** The next row, or null at the end. @throws the errors of reading the bytes */
  async next(): Promise<Buffer | null> {
    for (let end = this.#rowEnd(); ; end = this.#rowEnd()) {
      if (end !== -1) return this.#take(end);
      const piece = await this.#pieces.next();
      if (piece.done === true) return this.#start < this.#held.length ? this.#take(this.#held.length) : null;
      this.#hold(piece.value.bytes);
      // A frame begins with a row. The row that is already held belongs to the frame before.
      if (this.#held.length === piece.value.bytes.length) this.#position = { ...this.#position, frame: piece.value.frame };
    }
  }

  async close(): Promise<void> {
    await this.#pieces.return();
  }

  #take(end: number): Buffer {
    const row = this.#held.subarray(this.#start, end);
    this.#start = end;
    this.#looked = end;
    this.#odd = false;
    this.#position = { offset: this.#position.offset + row.length, frame: this.#position.frame };
    return row;
  }

  #hold(bytes: Buffer): void {
    const rest = this.#held.subarray(this.#start);
    this.#held = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    this.#looked -= this.#start;
    this.#start = 0;
    this.#quote = this.#nextQuote(this.#looked);
  }

  /** The index after the row that begins at `#start`; -1 when the row is not complete yet. */
  #rowEnd(): number {
    for (;;) {
      const lineEnd = this.#held.indexOf(LINE_END, this.#looked);
      const upTo = lineEnd === -1 ? this.#held.length : lineEnd;
      for (; this.#quote < upTo; this.#quote = this.#nextQuote(this.#quote + 1)) this.#odd = !this.#odd;
      this.#looked = lineEnd === -1 ? upTo : lineEnd + 1;
      if (lineEnd === -1) return -1;
      if (!this.#odd) return lineEnd + 1;
    }
  }

  #nextQuote(from: number): number {
    const found = this.#quoted ? this.#held.indexOf(QUOTE, from) : -1;
    return found === -1 ? this.#held.length : found;
  }
}
