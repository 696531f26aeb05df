/** What a checkpoint says of the parts of an unfinished file in S3, and whether it is still true. */
import { headObject, type S3Access } from '../s3/objects.ts';
import { SMALLEST_PART } from '../s3/limits.ts';
import { readObject } from '../s3/read-object.ts';
import { CHANGED, LACKS_PARTS } from './failure.ts';
import { ResumableSha256 } from './resumable-sha256.ts';
import type { S3Parts } from './s3-parts.ts';
import type { KeptFile, KeptPart } from './storage.ts';

/** Bytes that were spoilt on their way come whole the next time. */
const MOST_READS = 3;

/** The whole parts of the first `size` bytes, and what of the next one belongs to them. */
export function cut(kept: readonly KeptPart[], size: number): { parts: KeptPart[]; rest: KeptPart | null } {
  const parts: KeptPart[] = [];
  let left = size;
  for (const part of kept) {
    const bytes = Math.min(part.bytes, left);
    left -= bytes;
    if (bytes > SMALLEST_PART) parts.push({ ...part, bytes });
    else if (bytes > 0) return { parts, rest: { ...part, bytes } };
  }
  return { parts, rest: null };
}

/** Whether all the objects are there of which these bytes are made, and none was replaced. @throws as the SDK does */
export async function areThere(parts: S3Parts, size: number, kept: KeptFile): Promise<boolean> {
  if (kept.parts.reduce((sum, { bytes }) => sum + bytes, 0) < size) return false;
  const there = await parts.list();
  const own = kept.parts.filter(({ version }) => version === undefined);
  const isThere = ({ name, at = 0, bytes, etag }: KeptPart): boolean => {
    const found = there.get(name);
    return found !== undefined && found.size >= at + bytes && (etag === undefined || bare(found.etag) === bare(etag));
  };
  return own.every(isThere) && (await parts.replaced(kept.parts)) === null;
}

/** What keeps a run from going on with them, after the file's name; null: all are there, and the part that a resume reads is what was written. @throws as the SDK does */
export async function flawOf(access: S3Access, parts: S3Parts, size: number, kept: KeptFile): Promise<string | null> {
  if (!(await areThere(parts, size, kept))) return LACKS_PARTS;
  const { parts: whole, rest } = cut(kept.parts, size);
  return rest === null || (await fetchOpenPart(access, parts, { rest, isFirst: whole.length === 0, kept })) !== null ? null : CHANGED;
}

/** The bytes behind the whole parts. Null: they are not those of which the checkpoint has the SHA-256. @throws as the SDK does */
export async function fetchOpenPart(access: S3Access, parts: S3Parts, { rest, isFirst, kept }: { readonly rest: KeptPart; readonly isFirst: boolean; readonly kept: KeptFile }): Promise<Buffer | null> {
  for (let reads = 0; reads < MOST_READS; reads++) {
    const bytes = await fetchPart(access, parts, rest);
    const sha = isFirst ? new ResumableSha256() : ResumableSha256.from(kept.before ?? '');
    sha.update(bytes);
    if (sha.state === kept.sha) return bytes;
  }
  return null;
}

async function fetchPart(access: S3Access, parts: S3Parts, { name, at = 0, bytes }: KeptPart): Promise<Buffer> {
  const place = parts.place(name);
  const { etag } = await headObject(access, place);
  const chunks: Buffer[] = [];
  for await (const chunk of readObject(access, { ...place, etag }, { start: at, end: at + bytes }, { chunkBytes: bytes })) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

/** Servers differ in the quotes. */
function bare(etag: string): string {
  return etag.replaceAll('"', '');
}
