/** Objects that are small enough to be read and written whole: texts, and parts of an output. */
import { createHash } from 'node:crypto';
import { DeleteObjectCommand, GetObjectCommand, PutObjectCommand, type PutObjectCommandInput } from '@aws-sdk/client-s3';
import { addAbortSignal, Readable } from 'node:stream';
import { faultOf } from './failure.ts';
import type { S3Access } from './objects.ts';
import { patiently, type Attempt } from './patience.ts';
import type { S3Place } from './uri.ts';

/** What goes at once: an upload of which none of these goes any more stands still. */
const CHUNK_BYTES = 65_536;

export interface SmallObject {
  readonly bytes: Buffer;
  /** As the server gives it, quotes included. */
  readonly etag: string;
  /** Milliseconds since it was written, by the server's own clock, which counts in seconds; null: it does not say. */
  readonly ageMs: number | null;
  /** By the server's clock. */
  readonly modified: Date;
}

/**
 * Null when there is none. Bytes that are not those of the ETag, which for most objects is their MD5 (API reference,
 * "Object": not with KMS), count once two reads agree.
 * @param from the first byte that is wanted. @throws as the SDK does, and Error when that is more than `mostBytes`
 */
export async function getSmall(access: S3Access, place: S3Place, mostBytes: number, signal?: AbortSignal, from = 0): Promise<SmallObject | null> {
  let before: SmallObject | null = null;
  for (;;) {
    const found = await getOnce(access, place, mostBytes, signal, from);
    if (found === null || isOfEtag(found, from) || before?.bytes.equals(found.bytes) === true) return found;
    before = found;
  }
}

/** What is read from its middle cannot be told by the ETag: ledgers, of which each member has a checksum of its own. */
function isOfEtag({ bytes, etag }: SmallObject, from: number): boolean {
  return from > 0 || etag.replaceAll('"', '') === createHash('md5').update(bytes).digest('hex');
}

async function getOnce({ client, patience }: S3Access, { bucket, key }: S3Place, mostBytes: number, signal: AbortSignal | undefined, from: number): Promise<SmallObject | null> {
  try {
    return await patiently(async (attempt) => {
      const command = new GetObjectCommand({ Bucket: bucket, Key: key, ...(from === 0 ? {} : { Range: `bytes=${from}-` }) });
      let date: string | undefined;
      command.middlewareStack.add((next) => async (args) => {
        const result = await next(args);
        date = (result.response as { readonly headers?: Readonly<Record<string, string>> }).headers?.['date'];
        return result;
      }, { step: 'deserialize' });
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
      return { bytes: Buffer.concat(parts), etag: answer.ETag ?? '', ageMs: ageOf(date, answer.LastModified), modified: answer.LastModified ?? new Date(0) };
    }, patience, signal);
  } catch (error) {
    if (faultOf(error) === 'no_object') return null;
    throw error;
  }
}

class TooLong extends Error {
  /** No attempt would make it shorter. */
  readonly $metadata = { httpStatusCode: 400 };
}

function ageOf(date: string | undefined, modified: Date | undefined): number | null {
  const age = Date.parse(date ?? '') - (modified?.getTime() ?? NaN);
  return Number.isNaN(age) ? null : Math.max(0, age);
}

/** @returns the ETag. @throws as the SDK does */
export async function putSmall({ client, patience }: S3Access, { bucket, key }: S3Place, body: Buffer, more: Partial<PutObjectCommandInput> = {}, signal?: AbortSignal): Promise<string> {
  // The server compares it with what has arrived.
  const ContentMD5 = createHash('md5').update(body).digest('base64');
  const signed = createHash('sha256').update(body).digest('hex');
  const { ETag } = await patiently((attempt) => {
    const put = new PutObjectCommand({ Bucket: bucket, Key: key, Body: body, ContentLength: body.length, ContentMD5, ...more });
    // A stream of its own each time it is sent: see `regions.ts`. Of a stream the SDK would sign nothing.
    put.middlewareStack.add((next) => (args) => {
      const request = args.request as { readonly headers: Record<string, string>; body: unknown };
      request.headers['x-amz-content-sha256'] = signed;
      if (body.length > CHUNK_BYTES) request.body = inChunks(body, attempt);
      return next(args);
    }, { step: 'build' });
    return client.send(put, { abortSignal: attempt.signal });
  }, patience, signal);
  return ETag ?? '';
}

/** Tells the attempt of each chunk that goes. */
function inChunks(body: Buffer, attempt: Attempt): Readable {
  let at = 0;
  return new Readable({
    highWaterMark: CHUNK_BYTES,
    read() {
      attempt.moves();
      this.push(at < body.length ? body.subarray(at, (at += CHUNK_BYTES)) : null);
    },
  });
}

/** Also where it is not there. @throws as the SDK does */
export async function deleteObject({ client, patience }: S3Access, { bucket, key }: S3Place, signal?: AbortSignal): Promise<void> {
  await patiently((attempt) => client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }), { abortSignal: attempt.signal }), patience, signal);
}
