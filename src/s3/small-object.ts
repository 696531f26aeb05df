/** Objects that fit into memory: texts, and parts of an output. */
import { createHash } from 'node:crypto';
import { DeleteObjectCommand, GetObjectCommand, PutObjectCommand, type PutObjectCommandInput } from '@aws-sdk/client-s3';
import { addAbortSignal, Readable } from 'node:stream';
import { faultOf } from './failure.ts';
import type { S3Access } from './objects.ts';
import { withRetries, type S3Attempt } from './retry.ts';
import type { S3Location } from './uri.ts';

/** Bytes that are sent at once. An upload hangs when no chunk leaves. */
const CHUNK_BYTES = 65_536;

interface SmallObject {
  readonly bytes: Buffer;
  /** As the server gives it, quotes included. */
  readonly etag: string;
  /** Milliseconds since it was written, by the server's clock in seconds. Null when the server does not tell. */
  readonly ageMs: number | null;
  /** By the server's clock. */
  readonly modified: Date;
}

/**
 * Reads an object; null when it does not exist. For most objects the ETag is the MD5 (API reference, "Object": not with KMS). If bytes and
 * ETag differ, two equal reads are accepted.
 * @param from first byte to read. @throws as the SDK does; Error when the object is longer than `mostBytes`
 */
export async function getSmall(
  access: S3Access,
  place: S3Location,
  mostBytes: number,
  signal?: AbortSignal,
  from = 0,
): Promise<SmallObject | null> {
  let before: SmallObject | null = null;
  for (;;) {
    const found = await getOnce(access, place, mostBytes, signal, from);
    if (found === null || matchesEtag(found, from) || before?.bytes.equals(found.bytes) === true) return found;
    before = found;
  }
}

/** True when the bytes match the ETag. A read from the middle cannot be compared; ledgers have a checksum in each member instead. */
function matchesEtag({ bytes, etag }: SmallObject, from: number): boolean {
  return from > 0 || etag.replaceAll('"', '') === createHash('md5').update(bytes).digest('hex');
}

async function getOnce(
  { client, retryPolicy }: S3Access,
  { bucket, key }: S3Location,
  mostBytes: number,
  signal: AbortSignal | undefined,
  from: number,
): Promise<SmallObject | null> {
  try {
    return await withRetries(
      async (attempt) => {
        const command = new GetObjectCommand({ Bucket: bucket, Key: key, ...(from === 0 ? {} : { Range: `bytes=${from}-` }) });
        let date: string | undefined;
        command.middlewareStack.add(
          (next) => async (args) => {
            const result = await next(args);
            date = (result.response as { readonly headers?: Readonly<Record<string, string>> }).headers?.['date'];
            return result;
          },
          { step: 'deserialize' },
        );
        const answer = await client.send(command, { abortSignal: attempt.signal });
        const body = addAbortSignal(attempt.signal, answer.Body as Readable);
        const parts: Buffer[] = [];
        let length = 0;
        for await (const bytes of body as AsyncIterable<Buffer>) {
          parts.push(bytes);
          length += bytes.length;
          if (length > mostBytes) throw new TooLong(`it is longer than ${mostBytes} bytes`);
          attempt.progress();
        }
        if (length < (answer.ContentLength ?? 0)) throw new Error(`the answer ended ${(answer.ContentLength ?? 0) - length} bytes early`);
        return {
          bytes: Buffer.concat(parts),
          etag: answer.ETag ?? '',
          ageMs: ageOf(date, answer.LastModified),
          modified: answer.LastModified ?? new Date(0),
        };
      },
      retryPolicy,
      signal,
    );
  } catch (error) {
    if (faultOf(error) === 'no_object') return null;
    throw error;
  }
}

class TooLong extends Error {
  /** A retry would not make it shorter. */
  readonly $metadata = { httpStatusCode: 400 };
}

function ageOf(date: string | undefined, modified: Date | undefined): number | null {
  const age = Date.parse(date ?? '') - (modified?.getTime() ?? NaN);
  return Number.isNaN(age) ? null : Math.max(0, age);
}

/** Writes an object. @returns its ETag. @throws as the SDK does */
export async function putSmall(
  { client, retryPolicy }: S3Access,
  { bucket, key }: S3Location,
  body: Buffer,
  more: Partial<PutObjectCommandInput> = {},
  signal?: AbortSignal,
): Promise<string> {
  // The server compares it with the received bytes.
  const ContentMD5 = createHash('md5').update(body).digest('base64');
  const signed = createHash('sha256').update(body).digest('hex');
  const { ETag } = await withRetries(
    (attempt) => {
      const put = new PutObjectCommand({ Bucket: bucket, Key: key, Body: body, ContentLength: body.length, ContentMD5, ...more });
      // Each attempt gets a new stream, see `regions.ts`. The SDK would sign no checksum of a stream.
      put.middlewareStack.add(
        (next) => (args) => {
          const request = args.request as { readonly headers: Record<string, string>; body: unknown };
          request.headers['x-amz-content-sha256'] = signed;
          if (body.length > CHUNK_BYTES) request.body = inChunks(body, attempt);
          return next(args);
        },
        { step: 'build' },
      );
      return client.send(put, { abortSignal: attempt.signal });
    },
    retryPolicy,
    signal,
  );
  return ETag ?? '';
}

/** Reports each chunk that leaves to the attempt. */
function inChunks(body: Buffer, attempt: S3Attempt): Readable {
  let at = 0;
  return new Readable({
    highWaterMark: CHUNK_BYTES,
    read() {
      attempt.moves();
      this.push(at < body.length ? body.subarray(at, (at += CHUNK_BYTES)) : null);
    },
  });
}

/** Deletes an object; a missing one is no error. @throws as the SDK does */
export async function deleteObject({ client, retryPolicy }: S3Access, { bucket, key }: S3Location, signal?: AbortSignal): Promise<void> {
  await withRetries(
    (attempt) => client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }), { abortSignal: attempt.signal }),
    retryPolicy,
    signal,
  );
}
