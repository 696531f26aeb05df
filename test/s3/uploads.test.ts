/** Uploads to a server that hangs, and uploads that dead runs have left. */
import { randomBytes } from 'node:crypto';
import { CreateMultipartUploadCommand, ListMultipartUploadsCommand, UploadPartCommand } from '@aws-sdk/client-s3';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { assemble, emptyUploads } from '../../src/s3/assemble.ts';
import { putSmall } from '../../src/s3/small-object.ts';
import { describeWith } from '../services/needed.ts';
import { clientOf } from './bucket.ts';
import { faultyBucket } from './faulty-bucket.ts';

const PART = randomBytes(8 * 1024 * 1024);
const IDLE_MS = 4_000;
const QUICK = { attempts: 3, baseMs: 1, capMs: 5, idleMs: IDLE_MS };
/** Bytes that buffers between the client and the server may hold. */
const MOST_BUFFERED = 24 * 1024 * 1024;

await describeWith('s3', 'a part of an output', async (server) => {
  const { bucket, proxy, access } = await faultyBucket(server);
  const place = { bucket: bucket.name, key: 'part' };
  // Only these timers stand still, so that a busy machine can make no attempt idle.
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());
  const HANG = { kind: 'hang', hangs: () => void vi.advanceTimersByTime(IDLE_MS) } as const;
  const puts = (): number => proxy.relayed.filter(({ method }) => method === 'PUT').length;

  test('an upload that was lost on its way is sent again, and no other request is', async () => {
    proxy.faultFor = ({ number }) => (number === 1 ? { kind: 'reset' } : number === 2 ? { kind: 'lost' } : null);
    await putSmall(access(QUICK), place, PART);
    expect(await bucket.get('part')).toEqual(PART);
    expect(puts()).toBe(3);
  });

  test('an upload whose bytes stop moving is sent again, and fails after the permitted attempts, whatever its size', async () => {
    proxy.faultFor = ({ number }) => (number === 1 ? HANG : null);
    await putSmall(access(QUICK), place, PART);
    proxy.faultFor = () => HANG;
    await expect(putSmall(access({ ...QUICK, attempts: 2 }), place, PART)).rejects.toThrow('nothing came for 4 s');
    expect(puts()).toBe(4);
  });

  test('an upload fails when its time is over, whatever attempts are left', async () => {
    proxy.faultFor = () => HANG;
    await expect(putSmall(access({ ...QUICK, attempts: 100, longestMs: 1 }), place, PART)).rejects.toThrow('nothing came for 4 s');
    expect(puts()).toBe(1);
  });

  test('a slow upload is not aborted', async () => {
    const body = Buffer.concat(Array.from({ length: 5 }, () => PART));
    // The clock goes with the bytes that arrive: all of them take longer than the idle time of an attempt.
    let tookMs = 0;
    const passes = (bytes: number): void => {
      const ms = (IDLE_MS * bytes) / MOST_BUFFERED;
      tookMs += ms;
      vi.advanceTimersByTime(ms);
    };
    proxy.faultFor = () => ({ kind: 'slow', passes });
    await putSmall(access({ ...QUICK, attempts: 1 }), place, body);
    expect(puts()).toBe(1);
    expect(tookMs).toBeGreaterThan(IDLE_MS * 1.5);
  });

  test('a server-side copy that hangs is repeated, after a longer time than any other request', async () => {
    await bucket.put('source', PART.subarray(0, 8_192));
    // The first copy hangs longer by this clock than other requests are tried, but not as long as a copy may take.
    let now = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
    try {
      const isCopy = ({ headers }: { readonly headers: object }): boolean => 'x-amz-copy-source' in headers;
      proxy.faultFor = (request) => {
        if (!isCopy(request) || now > 0) return null;
        now = 10_010;
        return HANG;
      };
      const guard = { begins: async () => {}, begun: async () => {}, check: async () => {} };
      await assemble(access({ ...QUICK, longestMs: 10_000 }), place, [{ place: { ...place, key: 'source' }, at: 0, bytes: 8_192 }], guard);
      expect(await bucket.get('part')).toEqual(PART.subarray(0, 8_192));
      expect(proxy.relayed.filter(isCopy).length).toBeGreaterThan(1);
    } finally {
      clock.mockRestore();
    }
  });

  test('all empty uploads of others are found, on whichever page of the listing they are', async () => {
    const client = clientOf(server);
    const begin = async (key: string): Promise<string> =>
      (await client.send(new CreateMultipartUploadCommand({ Bucket: bucket.name, Key: key }))).UploadId ?? '';
    const left = [await begin('out.csv'), await begin('out.csv'), await begin('out.csv')];
    const used = await begin('out.csv');
    await begin('out.csv.other');
    await client.send(new UploadPartCommand({ Bucket: bucket.name, Key: 'out.csv', UploadId: used, PartNumber: 1, Body: 'x' }));
    client.middlewareStack.add((next) => (args) => next({ ...args, input: { ...args.input, MaxUploads: 1 } }), { step: 'initialize' });
    let pages = 0;
    client.middlewareStack.add(
      (next, { commandName }) =>
        (args) => {
          if (commandName === ListMultipartUploadsCommand.name) pages++;
          return next(args);
        },
      { step: 'initialize' },
    );
    expect((await emptyUploads({ client, retryPolicy: QUICK }, { bucket: bucket.name, key: 'out.csv' }, new Date(0))).sort()).toEqual(
      left.sort(),
    );
    expect(pages).toBeGreaterThan(3);
  });
});
