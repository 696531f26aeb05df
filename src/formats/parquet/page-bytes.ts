/** The bytes of one column in one row group, read as pages need them. */
import { MAX_BLOCK_BYTES } from '../limits.ts';
import { readBytes, type ParquetSource } from './read-bytes.ts';
import type { Chunk } from './footer.ts';

export interface Block {
  readonly start: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Smallest block: many columns share the memory for blocks. */
const LEAST_BLOCK_BYTES = 16 * 1024;

export class PageBytes {
  readonly #file: ParquetSource;
  readonly #end: number;
  readonly #blockBytes: number;
  readonly #signal: AbortSignal | undefined;
  #at: number;
  #block: Block;

  /** @param whole the row group, where it was read at once @param blockBytes bytes of one read otherwise */
  constructor(file: ParquetSource, { start, end }: Chunk, whole: Block | null, blockBytes: number, signal: AbortSignal | undefined) {
    this.#file = file;
    this.#at = start;
    this.#end = end;
    this.#block = whole ?? { start, bytes: new Uint8Array(0) };
    this.#blockBytes = Math.min(MAX_BLOCK_BYTES, Math.max(LEAST_BLOCK_BYTES, blockBytes));
    this.#signal = signal;
  }

  /** Bytes that are left. */
  get left(): number {
    return this.#end - this.#at;
  }

  /**
   * The next bytes, without passing them: this many, or all that are left.
   * @param isAlone nothing beyond them is read, because what follows is likely to be passed
   */
  async peek(length: number, isAlone = false): Promise<Uint8Array> {
    const wanted = Math.min(length, this.left);
    const inBlock = this.#at - this.#block.start;
    if (inBlock + wanted > this.#block.bytes.length) {
      const end = Math.min(this.#end, this.#at + (isAlone ? wanted : Math.max(wanted, this.#blockBytes)));
      this.#block = { start: this.#at, bytes: await readBytes(this.#file, this.#at, end, this.#signal) };
      return this.#block.bytes.subarray(0, wanted);
    }
    return this.#block.bytes.subarray(inBlock, inBlock + wanted);
  }

  /** Passes the next bytes. @throws RangeError when fewer are left */
  skip(length: number): void {
    if (!(length >= 0 && length <= this.left)) throw new RangeError('a page ends outside of its column');
    this.#at += length;
  }
}
