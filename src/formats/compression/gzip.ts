/**
 * gzip (RFC 1952), member by member, so that each member's start is known and reading can begin there. Headers and trailers are parsed
 * here, and zlib inflates the stream between them.
 */
import { constants, crc32, createInflateRaw } from 'node:zlib';
import { InputError } from '../../util/errors.ts';
import type { ByteCursor } from './byte-cursor.ts';
import { DECODED_CHUNK_BYTES, decode, release, type Decoder } from './decoder.ts';
import { MAX_GZIP_HEADER_BYTES } from '../limits.ts';
import type { Frame } from '../input-record.ts';

/** Decompressed bytes and their frame (null: the file is not compressed). */
export interface Piece {
  readonly bytes: Buffer;
  readonly frame: Frame | null;
}

const FIXED_HEADER_BYTES = 10;
const TRAILER_BYTES = 8;
/** Header flags, RFC 1952 2.3.1. */
const FHCRC = 2;
const FEXTRA = 4;
const FNAME = 8;
const FCOMMENT = 16;
const RESERVED = 0xe0;
const DEFLATE = 8;

export function isGzip(head: Buffer): boolean {
  return head.length >= 2 && head[0] === 0x1f && head[1] === 0x8b;
}

export function truncatedError(name: string, at: number): InputError {
  return new InputError('input_truncated', `The archive ${name} is cut off: it ends at byte ${at} in the middle of its data.`, {
    hint: 'Fetch the whole file and run with --fresh: what was paid for is in the ledger.',
  });
}

export function damagedError(name: string, at: number, what: string, cause?: unknown): InputError {
  return new InputError('input_compression', `The archive ${name} is damaged near byte ${at}: ${what}.`, {
    hint: 'Fetch or compress the file again.',
    ...(cause === undefined ? {} : { cause }),
  });
}

/**
 * Inflates from the cursor, at the start of a member, to the end. `offset` is that member's offset in the decompressed bytes. Zeros after a
 * member are padding.
 * @throws InputError `input_truncated` after all output before the cut, `input_compression` for any other defect
 */
export async function* readGzip(cursor: ByteCursor, offset: number, name: string): AsyncGenerator<Piece, void, void> {
  let decompressed = offset;
  for (let first = true; ; first = false) {
    const at = cursor.at;
    const head = await cursor.peek(2);
    if (head.length === 0) return;
    if (!isGzip(head)) {
      if (!first && head[0] === 0) return await skipPadding(cursor, name);
      if (head.length < 2) throw truncatedError(name, at + head.length);
      throw damagedError(name, at, first ? 'no gzip member begins here' : 'what follows the last member is neither gzip nor padding');
    }
    await takeHeader(cursor, name);
    const frame: Frame = { at, offset: decompressed };
    let checksum = 0;
    let size = 0;
    for await (const bytes of inflate(cursor, name)) {
      checksum = crc32(bytes, checksum);
      size += bytes.length;
      yield { bytes, frame };
    }
    decompressed += size;
    const trailer = await cursor.peek(TRAILER_BYTES);
    if (trailer.length < TRAILER_BYTES) throw truncatedError(name, cursor.at + trailer.length);
    if (trailer.readUInt32LE(0) !== checksum) throw damagedError(name, cursor.at, 'the checksum of the member does not match');
    if (trailer.readUInt32LE(4) !== size % 2 ** 32) throw damagedError(name, cursor.at, 'the length of the member does not match');
    cursor.take(TRAILER_BYTES);
  }
}

async function* inflate(cursor: ByteCursor, name: string): AsyncGenerator<Buffer, void, void> {
  const decoder = createInflateRaw({ chunkSize: DECODED_CHUNK_BYTES, finishFlush: constants.Z_SYNC_FLUSH }) as unknown as Decoder;
  try {
    for (;;) {
      const input = await cursor.some();
      // The trailer is missing too, so the member cannot be complete.
      if (input === null) throw truncatedError(name, cursor.at);
      const before = decoder.bytesWritten;
      try {
        yield* decode(decoder, input);
      } catch (error) {
        throw damagedError(
          name,
          cursor.at + decoder.bytesWritten - before,
          error instanceof Error ? error.message : 'it does not inflate',
          error,
        );
      }
      const used = decoder.bytesWritten - before;
      cursor.take(used);
      if (used < input.length) return;
    }
  } finally {
    release(decoder);
  }
}

async function takeHeader(cursor: ByteCursor, name: string): Promise<void> {
  const start = cursor.at;
  let head = await cursor.peek(FIXED_HEADER_BYTES);
  const need = async (count: number): Promise<void> => {
    if (count > MAX_GZIP_HEADER_BYTES) throw damagedError(name, start, 'the header of a member is longer than any real one');
    if (head.length < count) head = await cursor.peek(count);
    if (head.length < count) throw truncatedError(name, start + head.length);
  };
  await need(FIXED_HEADER_BYTES);
  const flags = head[3] ?? 0;
  if (head[2] !== DEFLATE || (flags & RESERVED) !== 0) throw damagedError(name, start, 'the header of a member is not one of gzip');
  let length = FIXED_HEADER_BYTES;
  if ((flags & FEXTRA) !== 0) {
    await need(length + 2);
    length += 2 + head.readUInt16LE(length);
    await need(length);
  }
  for (const flag of [FNAME, FCOMMENT]) {
    if ((flags & flag) === 0) continue;
    let end = head.indexOf(0, length);
    for (let want = length + 1; end === -1; end = head.indexOf(0, length)) {
      want = Math.max(want * 2, head.length + 1);
      await need(Math.min(want, head.length + 1));
    }
    length = end + 1;
  }
  if ((flags & FHCRC) !== 0) length += 2;
  await need(length);
  cursor.take(length);
}

async function skipPadding(cursor: ByteCursor, name: string): Promise<void> {
  for (let bytes = await cursor.some(); bytes !== null; bytes = await cursor.some()) {
    const stray = bytes.findIndex((byte) => byte !== 0);
    if (stray !== -1) throw damagedError(name, cursor.at + stray, 'what follows the last member is neither gzip nor padding');
    cursor.take(bytes.length);
  }
}
