import { promisify } from 'node:util';
import { gzip, zstdCompress } from 'node:zlib';
import type { Compression } from '../input-record.ts';

/**
 * A member (gzip) or frame (zstd) ends after this number of rows or bytes, whichever comes first. The rule depends on the rows alone, so
 * that the output does not depend on the times of checkpoints. A resume starts at the end of a member or frame.
 */
export interface MemberSize {
  readonly rows: number;
  readonly bytes: number;
}

export const MEMBER: MemberSize = { rows: 5_000, bytes: 8 * 1024 * 1024 };

/** The size of a row group of a Parquet output, by the same rule. */
export const ROW_GROUP: MemberSize = { rows: 10_000, bytes: 16 * 1024 * 1024 };

const gzipAsync = promisify(gzip);
const zstdAsync = promisify(zstdCompress);

/** Compresses one complete member or frame. It contains no time (RFC 1952 MTIME is 0), so the same rows give the same bytes. */
export async function compressMember(compression: Exclude<Compression, 'none'>, bytes: Buffer): Promise<Buffer> {
  return compression === 'gzip' ? gzipAsync(bytes) : zstdAsync(bytes);
}
