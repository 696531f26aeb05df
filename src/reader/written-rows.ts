/** The rows of a file that Millrace itself has written, as they stand: an output, or an errors file. */
import { CHUNK_BYTES } from './limits.ts';
import { readPieces, type Readable } from './pieces.ts';
import type { Position } from './types.ts';

const LINE_END = 0x0a;
const QUOTE = 0x22;

/**
 * Rows in order, line ends included. In csv and tsv a row ends at the first line end outside quotes; because every cell
 * with a quote is quoted and its quotes doubled (RFC 4180), that is one after an even number of quotes.
 */
export class WrittenRows {
  readonly #pieces: ReturnType<typeof readPieces>;
  readonly #quoted: boolean;
  #held: Buffer = Buffer.alloc(0);
  /** The next row begins here in `#held`; what lies before `#looked` was looked at, and `#odd` quotes were seen since the row began. */
  #start = 0;
  #looked = 0;
  #odd = false;
  /** The first quote at or after `#looked`; the length of `#held` when there is none. */
  #quote = 0;
  #position: Pick<Position, 'offset' | 'frame'>;

  /** @param quoted whether line ends may stand within quotes. @param from where a row begins */
  constructor(file: Readable, quoted: boolean, from: Pick<Position, 'offset' | 'frame'>, signal?: AbortSignal) {
    this.#pieces = readPieces(file, from, { chunkBytes: CHUNK_BYTES, signal });
    this.#quoted = quoted;
    this.#position = { offset: from.offset, frame: from.frame };
  }

  /** Where the next row begins. Reading can start there. */
  get position(): Pick<Position, 'offset' | 'frame'> {
    return this.#position;
  }

  /** Null after the last one. @throws what reading the bytes throws */
  async next(): Promise<Buffer | null> {
    for (let end = this.#rowEnd(); ; end = this.#rowEnd()) {
      if (end !== -1) return this.#take(end);
      const piece = await this.#pieces.next();
      if (piece.done === true) return this.#start < this.#held.length ? this.#take(this.#held.length) : null;
      this.#hold(piece.value.bytes);
      // A frame begins with a row: of the row that is already held, the frame is still the one before.
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

  /** One past the end of the row that begins at `#start`; -1: not held whole. */
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
