/**
 * Zstandard (RFC 8878), frame by frame. The headers of frames and blocks are parsed here to find the end of each frame, and each frame has
 * a decoder of its own. Skippable frames are skipped.
 */
import { constants, createZstdDecompress } from 'node:zlib';
import type { ByteCursor } from './byte-cursor.ts';
import { DECODED_CHUNK_BYTES, decode, release, type Decoder } from './decoder.ts';
import { damagedError, truncatedError, type Piece } from './gzip.ts';
import type { Frame } from '../input-record.ts';

const MAGIC = 0xfd2fb528;
/** The sixteen skippable magic numbers differ in their low four bits. */
const SKIPPABLE = 0x184d2a50;
const BLOCK_HEADER_BYTES = 3;
const CHECKSUM_BYTES = 4;
/** The largest window of a frame, as a power of two: 128 MiB, the default limit of the zstd tool. */
const MAX_WINDOW_LOG = 27;

function isSkippable(magic: number): boolean {
  return (magic & 0xfffffff0) >>> 0 === SKIPPABLE;
}

export function isZstd(head: Buffer): boolean {
  if (head.length < 4) return false;
  const magic = head.readUInt32LE(0);
  return magic === MAGIC || isSkippable(magic);
}

/** Decompresses from the cursor, at the start of a frame, to the end. Errors as for gzip. */
export async function* readZstd(cursor: ByteCursor, offset: number, name: string): AsyncGenerator<Piece, void, void> {
  let decompressed = offset;
  for (;;) {
    const at = cursor.at;
    const head = await cursor.peek(4);
    if (head.length === 0) return;
    if (head.length < 4) throw truncatedError(name, at + head.length);
    const magic = head.readUInt32LE(0);
    if (isSkippable(magic)) {
      await skipFrame(cursor, name);
      continue;
    }
    if (magic !== MAGIC) throw damagedError(name, at, 'no zstd frame begins here');
    const frame: Frame = { at, offset: decompressed };
    for await (const bytes of readFrame(cursor, name)) {
      decompressed += bytes.length;
      yield { bytes, frame };
    }
  }
}

async function* readFrame(cursor: ByteCursor, name: string): AsyncGenerator<Buffer, void, void> {
  const decoder = createZstdDecompress({
    chunkSize: DECODED_CHUNK_BYTES,
    params: { [constants.ZSTD_d_windowLogMax]: MAX_WINDOW_LOG },
  }) as unknown as Decoder;
  const walk = new FrameWalk();
  try {
    while (!walk.done) {
      const input = await cursor.some();
      if (input === null) throw truncatedError(name, cursor.at);
      const count = walk.advance(input);
      if (walk.wrong !== null) throw damagedError(name, cursor.at + count, walk.wrong);
      try {
        yield* decode(decoder, input.subarray(0, count));
      } catch (error) {
        throw damagedError(name, cursor.at, error instanceof Error ? error.message : 'it does not decompress', error);
      }
      cursor.take(count);
    }
  } finally {
    release(decoder);
  }
}

async function skipFrame(cursor: ByteCursor, name: string): Promise<void> {
  const head = await cursor.peek(8);
  if (head.length < 8) throw truncatedError(name, cursor.at + head.length);
  let left = 8 + head.readUInt32LE(4);
  while (left > 0) {
    const bytes = await cursor.some();
    if (bytes === null) throw truncatedError(name, cursor.at);
    const count = Math.min(left, bytes.length);
    cursor.take(count);
    left -= count;
  }
}

/** Parses one frame's headers, split into chunks in any way. */
class FrameWalk {
  done = false;
  /** The violation of the standard, or null. */
  wrong: string | null = null;
  #part: 'descriptor' | 'header' | 'block' | 'checksum' = 'descriptor';
  /** The number of header bytes still needed, and the bytes collected so far. */
  #want = 5;
  #head: number[] = [];
  /** The number of bytes to skip. */
  #skip = 0;
  #checksum = false;
  #last = false;

  /** How many bytes of `input` belong to this frame. */
  advance(input: Buffer): number {
    let i = 0;
    while (i < input.length && !this.done && this.wrong === null) {
      if (this.#skip > 0) {
        const count = Math.min(this.#skip, input.length - i);
        this.#skip -= count;
        i += count;
        if (this.#skip === 0) this.#afterBody();
        continue;
      }
      this.#head.push(input[i] ?? 0);
      i += 1;
      if (this.#head.length === this.#want) this.#read();
    }
    return i;
  }

  #read(): void {
    const head = this.#head;
    this.#head = [];
    switch (this.#part) {
      case 'descriptor': {
        // RFC 8878 3.1.1.1: the magic number (4 bytes), then the descriptor, which determines the length of the rest of the header.
        const descriptor = head[4] ?? 0;
        const single = (descriptor & 0x20) !== 0;
        const sizeFlag = descriptor >> 6;
        this.#checksum = (descriptor & 0x04) !== 0;
        if ((descriptor & 0x08) !== 0) this.wrong = 'a reserved bit of a frame header is set';
        const sizeBytes = sizeFlag === 0 ? (single ? 1 : 0) : 2 ** sizeFlag;
        const dictionaryBytes = [0, 1, 2, 4][descriptor & 3] ?? 0;
        const rest = (single ? 0 : 1) + dictionaryBytes + sizeBytes;
        this.#part = 'header';
        this.#skip = rest;
        return;
      }
      case 'block': {
        const value = (head[0] ?? 0) | ((head[1] ?? 0) << 8) | ((head[2] ?? 0) << 16);
        const type = (value >> 1) & 3;
        const size = value >> 3;
        this.#last = (value & 1) === 1;
        if (type === 3) this.wrong = 'a block is of a reserved type';
        // A run-length block is one byte, for any decompressed length.
        this.#skip = type === 1 ? 1 : size;
        if (this.#skip === 0) this.#afterBody();
        return;
      }
      case 'checksum':
        this.done = true;
        return;
      case 'header':
        return;
    }
  }

  #afterBody(): void {
    if (this.#part === 'block' && this.#last) {
      if (!this.#checksum) {
        this.done = true;
        return;
      }
      this.#part = 'checksum';
      this.#want = CHECKSUM_BYTES;
      return;
    }
    this.#part = 'block';
    this.#want = BLOCK_HEADER_BYTES;
  }
}
