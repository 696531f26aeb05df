/** Existence, size and ETag of objects, and listings. */
import { GetObjectCommand, HeadObjectCommand, ListObjectsV2Command, type S3Client } from '@aws-sdk/client-s3';
import { addAbortSignal, type Readable } from 'node:stream';
import { faultOf } from './failure.ts';
import { withRetries, type RetryPolicy } from './retry.ts';
import type { S3Location } from './uri.ts';

export interface S3Access {
  readonly client: S3Client;
  readonly retryPolicy: RetryPolicy;
}

export interface ObjectFacts {
  readonly size: number;
  /** As the server gives it, quotes included (RFC 9110, 8.8.3). */
  readonly etag: string;
}

/** @throws as the SDK does */
export async function headObject(
  { client, retryPolicy }: S3Access,
  { bucket, key }: S3Location,
  signal?: AbortSignal,
): Promise<ObjectFacts> {
  const place = { Bucket: bucket, Key: key };
  const head = async (): Promise<ObjectFacts> => {
    const { ContentLength = 0, ETag = '' } = await withRetries(
      (attempt) => client.send(new HeadObjectCommand(place), { abortSignal: attempt.signal }),
      retryPolicy,
      signal,
    );
    return { size: ContentLength, etag: ETag };
  };
  try {
    return await head();
  } catch (error) {
    if (faultOf(error) === 'passing') throw error;
    // An answer to HEAD has no body: a missing bucket looks like a missing object, and the region may be missing.
    await withRetries(
      async (attempt) => {
        const { Body } = await client.send(new GetObjectCommand({ ...place, Range: 'bytes=0-0' }), { abortSignal: attempt.signal });
        if (Body !== undefined) for await (const _ of addAbortSignal(attempt.signal, Body as Readable)) attempt.progress();
      },
      retryPolicy,
      signal,
    );
    return head();
  }
}

interface ListedObject extends ObjectFacts {
  readonly key: string;
  /** Milliseconds since 1970 by the server's clock; most servers count whole seconds. */
  readonly modifiedAt: number;
}

/** The objects whose keys begin with `prefix`, page by page. @throws as the SDK does */
export async function* listObjects(
  { client, retryPolicy }: S3Access,
  bucket: string,
  prefix: string,
  signal?: AbortSignal,
): AsyncGenerator<ListedObject[], void, void> {
  let next: string | undefined;
  do {
    const page = await withRetries(
      (attempt) =>
        client.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, ContinuationToken: next }), { abortSignal: attempt.signal }),
      retryPolicy,
      signal,
    );
    yield (page.Contents ?? []).flatMap(({ Key, Size = 0, ETag = '', LastModified }) =>
      Key === undefined ? [] : [{ key: Key, size: Size, etag: ETag, modifiedAt: LastModified?.getTime() ?? 0 }],
    );
    next = page.IsTruncated === true ? page.NextContinuationToken : undefined;
  } while (next !== undefined);
}
