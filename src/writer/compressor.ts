import { promisify } from 'node:util';
import { gzip, zstdCompress } from 'node:zlib';
import type { OutputCompression } from '../job/types.ts';

/**
 * A member (gzip) or frame (zstd) ends after this many rows or bytes, whichever comes first: a rule of the rows alone,
 * so that the bytes do not depend on when checkpoints were written. A resume starts at the end of one.
 */
export interface MemberSize { readonly rows: number; readonly bytes: number }

export const MEMBER: MemberSize = { rows: 5_000, bytes: 8 * 1024 * 1024 };

const gzipAsync = promisify(gzip);
const zstdAsync = promisify(zstdCompress);

/** One whole member or frame. It carries no time (RFC 1952 MTIME is 0), so the same rows give the same bytes. */
export async function compressMember(compression: Exclude<OutputCompression, 'none'>, bytes: Buffer): Promise<Buffer> {
  return compression === 'gzip' ? gzipAsync(bytes) : zstdAsync(bytes);
}
