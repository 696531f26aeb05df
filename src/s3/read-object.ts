/**
 * Reads an object by ranged GETs. Each range is fetched completely before its bytes are handed over, so a slow consumer leaves no
 * connection idle.
 * A lost connection costs only the bytes that were under way.
 */
import { addAbortSignal, type Readable } from 'node:stream';
import { GetObjectCommand } from '@aws-sdk/client-s3';
import type { S3Access } from './objects.ts';
import { withRetries, type S3Attempt } from './retry.ts';
import type { S3Location } from './uri.ts';

/** Bytes of one GET. One more GET is fetched ahead, so twice this is held in memory. */
export const RANGE_BYTES = 8 * 1024 * 1024;
/** Bytes of the first GET. It is small for callers that read only the beginning. */
const FIRST_RANGE_BYTES = 512 * 1024;

interface ReadOptions {
  readonly chunkBytes: number;
  readonly signal?: AbortSignal | undefined;
}

/** `start` inclusive, `end` exclusive. */
interface Range {
  readonly start: number;
  readonly end: number;
}

/** The bytes of a range in chunks, from the version of the object with the given ETag. @throws as the SDK does */
export async function* readObject(
  access: S3Access,
  place: S3Location & { readonly etag: string },
  range: Range,
  options: ReadOptions,
): AsyncGenerator<Buffer, void, void> {
  const left = new AbortController();
  const signal = options.signal === undefined ? left.signal : AbortSignal.any([left.signal, options.signal]);
  let at = range.start;
  const fetchNext = (bytes: number): Promise<Buffer> => {
    const block = fetchRange(access, place, { start: at, end: Math.min(range.end, at + bytes) }, signal);
    // The consumer sees a failure when it awaits the block. Until then the rejection must not count as unhandled.
    block.catch(() => undefined);
    return block;
  };
  let ahead: Promise<Buffer> | null = null;
  try {
    for (let bytes = FIRST_RANGE_BYTES; at < range.end; bytes = RANGE_BYTES) {
      const block = await (ahead ?? fetchNext(bytes));
      ahead = null;
      at += block.length;
      for (let begin = 0; begin < block.length; begin += options.chunkBytes) {
        if (begin > 0 && at < range.end) ahead ??= fetchNext(RANGE_BYTES);
        yield block.subarray(begin, begin + options.chunkBytes);
      }
    }
  } finally {
    left.abort();
    await ahead?.catch(() => undefined);
  }
}

/** Fetches a range into memory. A retry continues at the byte that the failed attempt reached. */
async function fetchRange(
  { client, retryPolicy }: S3Access,
  { bucket, key, etag }: S3Location & { readonly etag: string },
  { start, end }: Range,
  signal: AbortSignal,
): Promise<Buffer> {
  const block = Buffer.allocUnsafeSlow(end - start);
  let filled = 0;
  const attempt = async (one: S3Attempt): Promise<Buffer> => {
    const command = new GetObjectCommand({ Bucket: bucket, Key: key, IfMatch: etag, Range: `bytes=${start + filled}-${end - 1}` });
    const answer = await client.send(command, { abortSignal: one.signal });
    const body = addAbortSignal(one.signal, answer.Body as Readable);
    const expected = `bytes ${start + filled}-${end - 1}/`;
    if (answer.ContentRange?.startsWith(expected) !== true) {
      body.destroy();
      throw new Error(`asked for ${expected}, and got ${answer.ContentRange ?? 'all of it'}`);
    }
    for await (const bytes of body as AsyncIterable<Buffer>) {
      if (bytes.length > block.length - filled) throw new Error('more bytes than were asked for');
      bytes.copy(block, filled);
      filled += bytes.length;
      one.progress();
    }
    if (filled < block.length) throw new Error(`the answer ended ${block.length - filled} bytes early`);
    return block;
  };
  return withRetries(attempt, retryPolicy, signal);
}
