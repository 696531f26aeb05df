/**
 * An object's bytes by ranged GETs, each fetched whole before its bytes are handed over: whoever reads may take as long as
 * a quota makes it, and no connection stands idle meanwhile. A lost connection costs what was under way in it.
 */
import { addAbortSignal, type Readable } from 'node:stream';
import { GetObjectCommand } from '@aws-sdk/client-s3';
import type { S3Access } from './objects.ts';
import { patiently, type Attempt } from './patience.ts';
import type { S3Place } from './uri.ts';

/** Bytes of one GET. One more is fetched ahead, so twice this is held. */
export const RANGE_BYTES = 8 * 1024 * 1024;
/** Of the first: whoever looks only at the beginning does not pay for more. */
const FIRST_RANGE_BYTES = 512 * 1024;

export interface ReadOptions {
  readonly chunkBytes: number;
  readonly signal?: AbortSignal | undefined;
}

/** From `start` up to, not including, `end`. */
interface Range {
  readonly start: number;
  readonly end: number;
}

/** The bytes of a range in chunks, of the object as it was when it had that ETag. @throws as the SDK does */
export async function* readObject(access: S3Access, place: S3Place & { readonly etag: string }, range: Range, options: ReadOptions): AsyncGenerator<Buffer, void, void> {
  const left = new AbortController();
  const signal = options.signal === undefined ? left.signal : AbortSignal.any([left.signal, options.signal]);
  let at = range.start;
  const fetchNext = (bytes: number): Promise<Buffer> => {
    const block = fetchRange(access, place, { start: at, end: Math.min(range.end, at + bytes) }, signal);
    // Seen by whoever awaits it; until then a failure is not an unhandled one.
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

/** A whole range in memory. After a failure it goes on from the byte that it had reached. */
async function fetchRange({ client, patience }: S3Access, { bucket, key, etag }: S3Place & { readonly etag: string }, { start, end }: Range, signal: AbortSignal): Promise<Buffer> {
  const block = Buffer.allocUnsafeSlow(end - start);
  let filled = 0;
  const attempt = async (one: Attempt): Promise<Buffer> => {
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
  return patiently(attempt, patience, signal);
}
