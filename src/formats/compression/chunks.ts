/** The decompressed bytes of a file from a position on, for any compression. */
import { InputError } from '../../util/errors.ts';
import { ByteCursor } from './byte-cursor.ts';
import { isGzip, readGzip, type Piece } from './gzip.ts';
import type { SourceFile } from '../../sources/source.ts';
import { sourceOf } from '../../sources/source-of.ts';
import type { Compression, Position } from '../input-record.ts';
import { isZstd, readZstd } from './zstd.ts';

/** The facts of a file that are needed to read its bytes. */
export interface Readable extends SourceFile {
  readonly size: number;
  readonly digest: string;
  readonly compression: Compression;
}

export interface PieceOptions {
  readonly chunkBytes: number;
  readonly signal?: AbortSignal | undefined;
}

/** The number of bytes that tell the compression. */
export const COMPRESSION_MAGIC_BYTES = 4;

/**
 * The compression by magic bytes, which outrank the name. @throws InputError `input_compression` when the name claims an archive, but the
 * bytes are not one
 */
export function findCompression(uri: string, head: Buffer): Compression {
  if (isGzip(head)) return 'gzip';
  if (isZstd(head)) return 'zstd';
  const claimed = /\.(gz|zst)$/i.exec(uri)?.[1]?.toLowerCase();
  if (claimed !== undefined && head.length > 0) {
    const kind = claimed === 'gz' ? 'gzip' : 'zstd';
    throw new InputError(
      'input_compression',
      `${uri} is named .${claimed} but holds no ${kind} data: its first bytes are ` +
        `${head.subarray(0, COMPRESSION_MAGIC_BYTES).toString('hex')}.`,
      {
        hint: `If the file is not compressed, rename it without .${claimed}.`,
      },
    );
  }
  return 'none';
}

/**
 * The decompressed bytes from `from` on. A plain file is opened there; an archive at its frame, and the bytes before `from` are dropped.
 * @throws InputError for a file that is missing, unreadable, damaged, truncated or shorter than before
 */
export async function* readPieces(
  file: Readable,
  from: Pick<Position, 'offset' | 'frame'>,
  options: PieceOptions,
): AsyncGenerator<Piece, void, void> {
  const storage = await sourceOf(file.path);
  if (file.compression === 'none') {
    const source = storage.readRange(file, { start: from.offset, end: file.size }, options);
    for await (const bytes of source) yield { bytes, frame: null };
    return;
  }
  const frame = from.frame ?? { at: 0, offset: 0 };
  const source = storage.readRange(file, { start: frame.at, end: file.size }, options);
  try {
    const cursor = new ByteCursor(source, frame.at);
    const pieces = file.compression === 'gzip' ? readGzip(cursor, frame.offset, file.uri) : readZstd(cursor, frame.offset, file.uri);
    let drop = from.offset - frame.offset;
    for await (const piece of pieces) {
      options.signal?.throwIfAborted();
      if (drop >= piece.bytes.length) {
        drop -= piece.bytes.length;
        continue;
      }
      yield drop === 0 ? piece : { bytes: piece.bytes.subarray(drop), frame: piece.frame };
      drop = 0;
    }
    if (drop > 0) {
      throw new InputError('input_changed', `The archive ${file.uri} ends ${drop} bytes before the place where reading was to go on.`, {
        hint: 'Put the file back as it was and run again, or start over with --fresh.',
      });
    }
  } finally {
    await source.return();
  }
}
