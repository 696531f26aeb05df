/** The parts of an unfinished file in S3 as the checkpoint stores them, and the test that they are intact. */
import { headObject, type S3Access } from '../s3/objects.ts';
import { SMALLEST_PART } from '../s3/limits.ts';
import { readObject } from '../s3/read-object.ts';
import { CHANGED, LACKS_PARTS } from './failure.ts';
import { ResumableSha256 } from './resumable-sha256.ts';
import type { S3Parts } from './s3-parts.ts';
import type { ResumeState, StoredPart } from './storage.ts';

/** Reads of a part. Bytes that were corrupted on the way arrive intact the next time. */
const MOST_READS = 3;

/** The complete parts within the first `size` bytes, and the piece of the next part that belongs to them. */
export function cut(kept: readonly StoredPart[], size: number): { parts: StoredPart[]; rest: StoredPart | null } {
  const parts: StoredPart[] = [];
  let left = size;
  for (const part of kept) {
    const bytes = Math.min(part.bytes, left);
    left -= bytes;
    if (bytes > SMALLEST_PART) parts.push({ ...part, bytes });
    else if (bytes > 0) return { parts, rest: { ...part, bytes } };
  }
  return { parts, rest: null };
}

/** True when all objects of these bytes exist and none was replaced. @throws as the SDK does */
export async function allExist(parts: S3Parts, size: number, kept: ResumeState): Promise<boolean> {
  if (kept.parts.reduce((sum, { bytes }) => sum + bytes, 0) < size) return false;
  const there = await parts.list();
  const own = kept.parts.filter(({ version }) => version === undefined);
  const isThere = ({ name, at = 0, bytes, etag }: StoredPart): boolean => {
    const found = there.get(name);
    return found !== undefined && found.size >= at + bytes && (etag === undefined || bare(found.etag) === bare(etag));
  };
  return own.every(isThere) && (await parts.replaced(kept.parts)) === null;
}

/**
 * The flaw that keeps a run from resuming, to follow the file's name. Null when all parts exist and the part that a resume reads is intact.
 * @throws as the SDK does
 */
export async function flawOf(access: S3Access, parts: S3Parts, size: number, kept: ResumeState): Promise<string | null> {
  if (!(await allExist(parts, size, kept))) return LACKS_PARTS;
  const { parts: whole, rest } = cut(kept.parts, size);
  return rest === null || (await fetchOpenPart(access, parts, { rest, isFirst: whole.length === 0, kept })) !== null ? null : CHANGED;
}

/** The bytes after the last complete part. Null when their SHA-256 differs from that of the checkpoint. @throws as the SDK does */
export async function fetchOpenPart(
  access: S3Access,
  parts: S3Parts,
  { rest, isFirst, kept }: { readonly rest: StoredPart; readonly isFirst: boolean; readonly kept: ResumeState },
): Promise<Buffer | null> {
  for (let reads = 0; reads < MOST_READS; reads++) {
    const bytes = await fetchPart(access, parts, rest);
    const sha = isFirst ? new ResumableSha256() : ResumableSha256.from(kept.before ?? '');
    sha.update(bytes);
    if (sha.state === kept.sha) return bytes;
  }
  return null;
}

async function fetchPart(access: S3Access, parts: S3Parts, { name, at = 0, bytes }: StoredPart): Promise<Buffer> {
  const place = parts.place(name);
  const { etag } = await headObject(access, place);
  const chunks: Buffer[] = [];
  for await (const chunk of readObject(access, { ...place, etag }, { start: at, end: at + bytes }, { chunkBytes: bytes }))
    chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

/** Servers differ in the quotes of an ETag. */
function bare(etag: string): string {
  return etag.replaceAll('"', '');
}
