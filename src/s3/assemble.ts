/** Assembles an object from other objects with multipart copy. The server copies; the bytes do not pass through this machine. */
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  ListPartsCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3';
import { faultOf } from './failure.ts';
import { SMALLEST_PART } from './limits.ts';
import { headObject, type S3Access } from './objects.ts';
import { withRetries, type RetryPolicy } from './retry.ts';
import { mapConcurrently } from '../util/map-concurrently.ts';
import type { S3Location } from './uri.ts';

const COPIES_AT_ONCE = 8;
/** Bytes a millisecond. A slower copy counts as hanging, because the server does not report progress. */
const SLOWEST = 256;
/** Milliseconds that a copy may take at most, whatever its size. */
const LONGEST_COPY_MS = 5 * 60_000;
/** Pages of unfinished uploads that are read. No name has this many in practice. */
const MOST_PAGES = 20;
/** Milliseconds. S3 refuses requests whose clock differs by more (API reference, "RequestTimeTooSkewed"). */
const WIDEST_SKEW_MS = 15 * 60_000;

interface CopyRange {
  readonly place: S3Location;
  readonly at: number;
  readonly bytes: number;
}

export interface AssembleGuard {
  /** Called before the upload begins. */
  begins(): Promise<void>;
  /** Called with the id of the upload, so that it can be recorded and aborted. No part is copied before this resolves. */
  begun(upload: string): Promise<void>;
  /** Called right before each attempt to complete the upload. @throws when the object must not appear any longer */
  check(): Promise<void>;
}

/** Makes one object of the sources, completely or not at all. Only the last source may be smaller than a part. @throws as the SDK does */
export async function assemble(access: S3Access, target: S3Location, sources: readonly CopyRange[], guard: AssembleGuard): Promise<void> {
  const { client, retryPolicy } = access;
  const object = { Bucket: target.bucket, Key: target.key };
  await guard.begins();
  const { UploadId = '' } = await begin(access, target);
  const upload = { ...object, UploadId };
  await guard.begun(UploadId);
  const parts = await mapConcurrently(sources, COPIES_AT_ONCE, async ({ place, at, bytes }, index) => {
    const range = bytes > SMALLEST_PART || at > 0 ? { CopySourceRange: `bytes=${at}-${at + bytes - 1}` } : {};
    const copy = new UploadPartCopyCommand({ ...upload, PartNumber: index + 1, CopySource: sourceName(place), ...range });
    const { CopyPartResult } = await withRetries(
      (attempt) => client.send(copy, { abortSignal: attempt.signal }),
      copyPolicy(retryPolicy, bytes),
      undefined,
    );
    return { PartNumber: index + 1, ETag: CopyPartResult?.ETag };
  });
  let tried = false;
  await withRetries(
    async (attempt) => {
      await guard.check();
      try {
        await client.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts: parts } }), {
          abortSignal: attempt.signal,
        });
      } catch (error) {
        // An earlier attempt may have completed although its answer was lost.
        const there = tried && faultOf(error) === 'no_object' ? await headObject(access, target).catch(() => null) : null;
        tried = true;
        if (there === null || there.size !== sources.reduce((sum, { bytes }) => sum + bytes, 0)) throw error;
      }
    },
    retryPolicy,
    undefined,
  );
}

async function begin(access: S3Access, target: S3Location): Promise<{ UploadId?: string | undefined }> {
  const since = new Date(Date.now() - WIDEST_SKEW_MS);
  let attempts = 0;
  const begun = await withRetries(
    (attempt) => {
      attempts++;
      return access.client.send(new CreateMultipartUploadCommand({ Bucket: target.bucket, Key: target.key }), {
        abortSignal: attempt.signal,
      });
    },
    access.retryPolicy,
    undefined,
  );
  // Attempts whose answers were lost have begun uploads that no record names.
  if (attempts > 1)
    for (const one of await emptyUploads(access, target, since)) if (one !== begun.UploadId) await abortUpload(access, target, one);
  return begun;
}

/** Aborts an upload that has not ended. It can never complete after that. @throws as the SDK does */
export async function abortUpload({ client, retryPolicy }: S3Access, { bucket, key }: S3Location, upload: string): Promise<void> {
  try {
    await withRetries(
      (attempt) =>
        client.send(new AbortMultipartUploadCommand({ Bucket: bucket, Key: key, UploadId: upload }), { abortSignal: attempt.signal }),
      retryPolicy,
      undefined,
    );
  } catch (error) {
    if (faultOf(error) !== 'no_object') throw error;
  }
}

/** Ids of the object's uploads that began at `since` or later and have no part yet. @throws as the SDK does */
export async function emptyUploads({ client, retryPolicy }: S3Access, { bucket, key }: S3Location, since: Date): Promise<string[]> {
  const ids: string[] = [];
  let next: { readonly KeyMarker?: string | undefined; readonly UploadIdMarker?: string | undefined } = {};
  for (let page = 0; page < MOST_PAGES; page++) {
    const list = new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: key, ...next });
    const {
      Uploads = [],
      IsTruncated = false,
      NextKeyMarker,
      NextUploadIdMarker,
    } = await withRetries((attempt) => client.send(list, { abortSignal: attempt.signal }), retryPolicy, undefined);
    for (const { Key, UploadId, Initiated = new Date(0) } of Uploads)
      if (Key === key && UploadId !== undefined && Initiated >= since) ids.push(UploadId);
    // Uploads are listed in the order of their keys, and this key is the first with its prefix.
    if (!IsTruncated || NextKeyMarker === undefined || NextKeyMarker > key) break;
    next = { KeyMarker: NextKeyMarker, UploadIdMarker: NextUploadIdMarker };
  }
  const empty: string[] = [];
  for (const UploadId of ids) {
    const { Parts = [] } = await withRetries(
      (attempt) => client.send(new ListPartsCommand({ Bucket: bucket, Key: key, UploadId }), { abortSignal: attempt.signal }),
      retryPolicy,
      undefined,
    );
    if (Parts.length === 0) empty.push(UploadId);
  }
  return empty;
}

/** The retry policy for a copy of `bytes`. Copies report no progress, so a hanging one must leave time for another attempt. */
function copyPolicy(retryPolicy: RetryPolicy, bytes: number): RetryPolicy {
  const copyMs = Math.min(LONGEST_COPY_MS, bytes / SLOWEST);
  return { ...retryPolicy, idleMs: retryPolicy.idleMs + copyMs, longestMs: (retryPolicy.longestMs ?? Infinity) + copyMs };
}

/** The source as a header takes it, with each segment of the key escaped. */
function sourceName({ bucket, key }: S3Location): string {
  return `${bucket}/${key.split('/').map(encodeURIComponent).join('/')}`;
}
