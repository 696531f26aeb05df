/** Bytes of a body to its text. A service that compresses although it was asked not to is understood all the same, within bounds. */
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, inflateRaw, zstdDecompress } from 'node:zlib';
import type { ResponseHeaders } from './types.ts';

const decoders = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  br: promisify(brotliDecompress),
  zstd: promisify(zstdDecompress),
} as const;

const inflateZlib = promisify(inflate);
const inflateBare = promisify(inflateRaw);

/** The body's content coding in lower case, or null when it is plain. */
export function codingOf(headers: ResponseHeaders): string | null {
  const value = headers['content-encoding'];
  if (value === undefined) return null;
  const coding = (typeof value === 'string' ? value : value.join(', ')).trim().toLowerCase();
  return coding === '' || coding === 'identity' ? null : coding;
}

/** The decoded bytes, at most `maxBytes` of them; null for an unknown coding, damaged data or too much of it. */
export async function decodeBody(body: Buffer, coding: string, maxBytes: number): Promise<Buffer | null> {
  const limit = { maxOutputLength: maxBytes };
  try {
    // Some send `deflate` without the zlib wrapper that RFC 9110 (8.4.1.2) asks for; its first byte tells them apart.
    if (coding === 'deflate') return await ((body[0] ?? 0) % 16 === 8 ? inflateZlib(body, limit) : inflateBare(body, limit));
    const decode = Object.hasOwn(decoders, coding) ? decoders[coding as keyof typeof decoders] : null;
    return decode === null ? null : await decode(body, limit);
  } catch {
    return null;
  }
}
