/** What is sent to a server that stands still, and what dead runs have left on it. */
import { randomBytes } from 'node:crypto';
import { CreateMultipartUploadCommand, ListMultipartUploadsCommand, UploadPartCommand } from '@aws-sdk/client-s3';
import { expect, test, vi } from 'vitest';
import { assemble, emptyUploads } from '../../src/s3/assemble.ts';
import { putSmall } from '../../src/s3/small-object.ts';
import { describeWith } from '../services/needed.ts';
import { clientOf } from './bucket.ts';
import { faultyBucket } from './faulty-bucket.ts';

const PART = randomBytes(8 * 1024 * 1024);
const QUICK = { attempts: 3, baseMs: 1, capMs: 5, idleMs: 60_000 };
/** Far less than the time that a part would take at the slowest speed which is still one. */
const IDLE_MS = 4_000;

await describeWith('s3', 'a part of an output', async (server) => {
  const { bucket, proxy, access } = await faultyBucket(server);
  const place = { bucket: bucket.name, key: 'part' };
  const puts = (): number => proxy.relayed.filter(({ method }) => method === 'PUT').length;

  test('that is lost on its way is sent again, whole, and only it', async () => {
    proxy.faultFor = ({ number }) => (number === 1 ? { kind: 'reset' } : number === 2 ? { kind: 'lost' } : null);
    await putSmall(access(QUICK), place, PART);
    expect(await bucket.get('part')).toEqual(PART);
    expect(puts()).toBe(3);
  });

  test('is sent again when nothing of it goes any more, and given up after as many attempts, however large it is', async () => {
    proxy.faultFor = ({ number }) => (number === 1 ? { kind: 'hang' } : null);
    await putSmall(access({ ...QUICK, idleMs: IDLE_MS }), place, PART);
    proxy.faultFor = () => ({ kind: 'hang' });
    await expect(putSmall(access({ ...QUICK, attempts: 2, idleMs: IDLE_MS }), place, PART)).rejects.toThrow('nothing came for 4 s');
    expect(puts()).toBe(4);
  });

  test('is given up at last, whatever attempts are left', async () => {
    proxy.faultFor = () => ({ kind: 'hang' });
    await expect(putSmall(access({ ...QUICK, attempts: 100, idleMs: IDLE_MS, longestMs: 1 }), place, PART)).rejects.toThrow('nothing came for 4 s');
    expect(puts()).toBe(1);
  });

  test('that goes slowly is waited for', async () => {
    // Each piece is let through only when the one before has long arrived; together they take longer than an attempt may stand still.
    proxy.faultFor = () => ({ kind: 'slow', eachMs: 40 });
    await putSmall(access({ ...QUICK, attempts: 1, idleMs: IDLE_MS }), place, PART);
    expect(puts()).toBe(1);
  });

  test('that the server copies is asked for again when the copy hangs, although it was waited for longer than any other request', async () => {
    await bucket.put('source', PART.subarray(0, 8_192));
    // By this clock the first copy stands still for longer than S3 is tried, and not for as much longer as the copy may take.
    let now = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
    try {
      const isCopy = ({ headers }: { readonly headers: object }): boolean => 'x-amz-copy-source' in headers;
      proxy.faultFor = (request) => {
        if (!isCopy(request) || now > 0) return null;
        now = 10_010;
        return { kind: 'hang' };
      };
      const guard = { begins: async () => {}, begun: async () => {}, check: async () => {} };
      await assemble(access({ ...QUICK, idleMs: 1_000, longestMs: 10_000 }), place, [{ place: { ...place, key: 'source' }, at: 0, bytes: 8_192 }], guard);
      expect(await bucket.get('part')).toEqual(PART.subarray(0, 8_192));
      expect(proxy.relayed.filter(isCopy).length).toBeGreaterThan(1);
    } finally {
      clock.mockRestore();
    }
  });

  test('of uploads that others left, all empty ones are found, on whichever page they stand', async () => {
    const client = clientOf(server);
    const begin = async (key: string): Promise<string> => (await client.send(new CreateMultipartUploadCommand({ Bucket: bucket.name, Key: key }))).UploadId ?? '';
    const left = [await begin('out.csv'), await begin('out.csv'), await begin('out.csv')];
    const used = await begin('out.csv');
    await begin('out.csv.other');
    await client.send(new UploadPartCommand({ Bucket: bucket.name, Key: 'out.csv', UploadId: used, PartNumber: 1, Body: 'x' }));
    client.middlewareStack.add((next) => (args) => next({ ...args, input: { ...args.input, MaxUploads: 1 } }), { step: 'initialize' });
    let pages = 0;
    client.middlewareStack.add((next, { commandName }) => (args) => {
      if (commandName === ListMultipartUploadsCommand.name) pages++;
      return next(args);
    }, { step: 'initialize' });
    expect((await emptyUploads({ client, patience: QUICK }, { bucket: bucket.name, key: 'out.csv' }, new Date(0))).sort()).toEqual(left.sort());
    expect(pages).toBeGreaterThan(3);
  });
});
