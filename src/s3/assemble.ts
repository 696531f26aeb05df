/** An object made of others by the server itself: not a byte of them goes through this machine. */
import { AbortMultipartUploadCommand, CompleteMultipartUploadCommand, CreateMultipartUploadCommand, ListMultipartUploadsCommand, ListPartsCommand, UploadPartCopyCommand } from '@aws-sdk/client-s3';
import { faultOf } from './failure.ts';
import { SMALLEST_PART } from './limits.ts';
import { headObject, type S3Access } from './objects.ts';
import { patiently, type Patience } from './patience.ts';
import { sideBySide } from '../reader/side-by-side.ts';
import type { S3Place } from './uri.ts';

const COPIES_AT_ONCE = 8;
/** A server that copies slower than this (bytes a millisecond) counts as standing still: it does not say how far it is. */
const SLOWEST = 256;
/** And is waited for no longer than this, however much it copies. */
const LONGEST_COPY_MS = 5 * 60_000;
/** Nobody has so many uploads of one name that are not ended: more are not looked at. */
const MOST_PAGES = 20;
/** S3 refuses requests by a clock that is further from its own (API reference, "RequestTimeTooSkewed"). */
const WIDEST_SKEW_MS = 15 * 60_000;

export interface Source {
  readonly place: S3Place;
  readonly at: number;
  readonly bytes: number;
}

export interface AssembleGuard {
  /** It is about to begin. */
  begins(): Promise<void>;
  /** It has begun, and whoever knows the upload can end it; nothing is copied before this resolves. */
  begun(upload: string): Promise<void>;
  /** Whether it may still appear: asked right before it does, each time that is tried. */
  check(): Promise<void>;
}

/** The sources, of which only the last may be small, become one object, whole or not at all. @throws as the SDK does */
export async function assemble(access: S3Access, target: S3Place, sources: readonly Source[], guard: AssembleGuard): Promise<void> {
  const { client, patience } = access;
  const object = { Bucket: target.bucket, Key: target.key };
  await guard.begins();
  const { UploadId = '' } = await begin(access, target);
  const upload = { ...object, UploadId };
  await guard.begun(UploadId);
  const parts = await sideBySide(sources, COPIES_AT_ONCE, async ({ place, at, bytes }, index) => {
    const range = bytes > SMALLEST_PART || at > 0 ? { CopySourceRange: `bytes=${at}-${at + bytes - 1}` } : {};
    const copy = new UploadPartCopyCommand({ ...upload, PartNumber: index + 1, CopySource: sourceName(place), ...range });
    const { CopyPartResult } = await patiently((attempt) => client.send(copy, { abortSignal: attempt.signal }), patienceFor(patience, bytes), undefined);
    return { PartNumber: index + 1, ETag: CopyPartResult?.ETag };
  });
  let tried = false;
  await patiently(async (attempt) => {
    await guard.check();
    try {
      await client.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts: parts } }), { abortSignal: attempt.signal });
    } catch (error) {
      // It may have come to its end although nobody heard of it.
      const there = tried && faultOf(error) === 'no_object' ? await headObject(access, target).catch(() => null) : null;
      tried = true;
      if (there === null || there.size !== sources.reduce((sum, { bytes }) => sum + bytes, 0)) throw error;
    }
  }, patience, undefined);
}

async function begin(access: S3Access, target: S3Place): Promise<{ UploadId?: string | undefined }> {
  const since = new Date(Date.now() - WIDEST_SKEW_MS);
  let attempts = 0;
  const begun = await patiently((attempt) => {
    attempts++;
    return access.client.send(new CreateMultipartUploadCommand({ Bucket: target.bucket, Key: target.key }), { abortSignal: attempt.signal });
  }, access.patience, undefined);
  // Attempts whose answers were lost have begun uploads that nobody else will ever know of.
  if (attempts > 1) for (const one of await emptyUploads(access, target, since)) if (one !== begun.UploadId) await abortUpload(access, target, one);
  return begun;
}

/** Ends an upload, if it has not ended: it can never appear after that. @throws as the SDK does */
export async function abortUpload({ client, patience }: S3Access, { bucket, key }: S3Place, upload: string): Promise<void> {
  try {
    await patiently((attempt) => client.send(new AbortMultipartUploadCommand({ Bucket: bucket, Key: key, UploadId: upload }), { abortSignal: attempt.signal }), patience, undefined);
  } catch (error) {
    if (faultOf(error) !== 'no_object') throw error;
  }
}

/** The uploads of an object that began at that time or later and have no part yet. @throws as the SDK does */
export async function emptyUploads({ client, patience }: S3Access, { bucket, key }: S3Place, since: Date): Promise<string[]> {
  const ids: string[] = [];
  let next: { readonly KeyMarker?: string | undefined; readonly UploadIdMarker?: string | undefined } = {};
  for (let page = 0; page < MOST_PAGES; page++) {
    const list = new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: key, ...next });
    const { Uploads = [], IsTruncated = false, NextKeyMarker, NextUploadIdMarker } = await patiently((attempt) => client.send(list, { abortSignal: attempt.signal }), patience, undefined);
    for (const { Key, UploadId, Initiated = new Date(0) } of Uploads) if (Key === key && UploadId !== undefined && Initiated >= since) ids.push(UploadId);
    // They come in the order of their keys, of which this one is the first.
    if (!IsTruncated || NextKeyMarker === undefined || NextKeyMarker > key) break;
    next = { KeyMarker: NextKeyMarker, UploadIdMarker: NextUploadIdMarker };
  }
  const empty: string[] = [];
  for (const UploadId of ids) {
    const { Parts = [] } = await patiently((attempt) => client.send(new ListPartsCommand({ Bucket: bucket, Key: key, UploadId }), { abortSignal: attempt.signal }), patience, undefined);
    if (Parts.length === 0) empty.push(UploadId);
  }
  return empty;
}

/** For a copy of so many bytes of which nobody says how far it is: one that hangs leaves time for another attempt. */
function patienceFor(patience: Patience, bytes: number): Patience {
  const copyMs = Math.min(LONGEST_COPY_MS, bytes / SLOWEST);
  return { ...patience, idleMs: patience.idleMs + copyMs, longestMs: (patience.longestMs ?? Infinity) + copyMs };
}

/** As a header takes it: each piece of the key escaped. */
function sourceName({ bucket, key }: S3Place): string {
  return `${bucket}/${key.split('/').map(encodeURIComponent).join('/')}`;
}
