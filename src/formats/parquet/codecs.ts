/** Decompresses the pages of a Parquet file. */
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import type { CompressionCodec } from 'hyparquet';
import { snappyUncompress } from 'hyparquet/src/snappy.js';

type Decompress = (bytes: Uint8Array, size: number) => Uint8Array;

const CODECS: Partial<Record<CompressionCodec, Decompress>> = {
  UNCOMPRESSED: (bytes) => bytes,
  SNAPPY: (bytes, size) => {
    const page = new Uint8Array(size);
    snappyUncompress(bytes, page);
    return page;
  },
  GZIP: (bytes, size) => gunzipSync(bytes, { maxOutputLength: Math.max(1, size) }),
  ZSTD: (bytes, size) => zstdDecompressSync(bytes, { maxOutputLength: Math.max(1, size) }),
  BROTLI: (bytes, size) => brotliDecompressSync(bytes, { maxOutputLength: Math.max(1, size) }),
};

/** Whether pages of this codec can be read. */
export function isKnownCodec(codec: CompressionCodec): boolean {
  return CODECS[codec] !== undefined;
}

/**
 * A page in memory of its own, so that no length within it reaches other memory of the process.
 * @param size bytes of the page, as its header states @throws when it has another size
 */
export function decompressPage(codec: CompressionCodec, bytes: Uint8Array, size: number): Uint8Array<ArrayBuffer> {
  const page = size === 0 ? new Uint8Array(0) : (CODECS[codec]?.(bytes, size) ?? new Uint8Array(0));
  if (page.length !== size) throw new RangeError(`a page has ${page.length} bytes, and its header states ${size}`);
  return page.byteLength === page.buffer.byteLength ? (page as Uint8Array<ArrayBuffer>) : new Uint8Array(page);
}
