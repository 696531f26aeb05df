/** An output in S3 behind a faulty network and server. */
import { randomUUID } from 'node:crypto';
import { CreateMultipartUploadCommand, UploadPartCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { S3Storage } from '../../src/storage/s3-storage.ts';
import type { Fence } from '../../src/storage/fence.ts';
import type { GrowingFile, ResumeState } from '../../src/storage/storage.ts';
import { clientOf, makeBucket } from '../s3/bucket.ts';
import { FaultProxy, SLOW_DOWN, type Fault, type Relayed } from '../services/fault-proxy.ts';
import { describeWith } from '../services/needed.ts';
import { ALONE } from '../support/fence.ts';

const MIB = 1024 * 1024;
const PART = 8 * MIB;
const QUICK = { attempts: 4, baseMs: 1, capMs: 5, idleMs: 60_000 };
/** Long enough for a busy machine. The test that waits for it takes this long. */
const SHORT_IDLE = { ...QUICK, idleMs: 1_000 };

await describeWith('s3', 'a growing file in S3', async (server) => {
  const bucket = await makeBucket(server);
  const proxy = await FaultProxy.start(server['endpoint'] ?? '');
  const storageWith = (retryPolicy = QUICK): S3Storage => new S3Storage({ client: clientOf(server, proxy.url), retryPolicy });
  const storage = storageWith();
  const newPath = (): string => `s3://${bucket.name}/${randomUUID()}/out.csv`;
  const newFence = (check: Fence['check'] = async () => undefined): Fence => ({ ...ALONE, id: randomUUID().slice(0, 8), check });
  const contentOf = async (path: string): Promise<Buffer | null> => bucket.get(path.slice(`s3://${bucket.name}/`.length));
  const bytes = Buffer.alloc(1 * MIB, 'a row, and another\n');

  afterAll(() => proxy.stop());
  beforeEach(() => {
    proxy.relayed.length = 0;
    proxy.faultFor = () => null;
  });

  const append = async (file: GrowingFile, mebibytes: number): Promise<void> => {
    for (let i = 0; i < mebibytes; i++) {
      await file.room();
      file.append(bytes);
    }
  };
  const keep = async (file: GrowingFile): Promise<{ size: number; kept: ResumeState | undefined }> => {
    const position = file.position();
    await file.sync();
    const kept = file.resumeState(position);
    await file.settled(kept);
    return { size: position.bytes, kept };
  };
  const finish = async (file: GrowingFile): Promise<void> => {
    await file.sync();
    await file.commit();
    await file.close();
  };
  const isPut = ({ method, url }: Pick<Relayed, 'method' | 'url'>): boolean =>
    method === 'PUT' && /\.partial\.[0-9a-f]{8}\.\d+\?/.test(url);
  const wholeParts = (): number[] => proxy.relayed.filter((one) => isPut(one) && one.sent >= PART).map(({ sent }) => sent);

  test('no byte is uploaded twice except in the open part, however often the job resumes', async () => {
    const path = newPath();
    let mark: Awaited<ReturnType<typeof keep>> = { size: 0, kept: undefined };
    for (const more of [11, 9, 2, 12]) {
      const file = await storage.open(path, mark.size, mark.kept, newFence());
      await append(file, more);
      mark = await keep(file);
      await file.close();
    }
    await finish(await storage.open(path, mark.size, mark.kept, newFence()));
    expect((await contentOf(path))?.length).toBe(34 * MIB);
    const open = proxy.relayed.filter((one) => isPut(one) && one.sent < PART).reduce((sum, { sent }) => sum + sent, 0);
    const whole = wholeParts().reduce((sum, sent) => sum + sent, 0);
    // Open parts of 5 MiB and more are reused without an upload.
    expect(whole).toBeLessThanOrEqual(34 * MIB);
    expect(whole + open).toBeLessThan(34 * MIB + 4 * PART);
    expect(await bucket.uploads()).toEqual([]);
  });

  test('two complete parts at most are under way, and the writer has to wait', async () => {
    const path = newPath();
    const release = Promise.withResolvers<void>();
    proxy.faultFor = (one) => (isPut(one) ? { kind: 'held', until: release.promise } : null);
    const file = await storage.open(path, 0, undefined, newFence());
    while (file.room() === null) file.append(bytes);
    expect(file.size).toBe(3 * PART);
    await expect.poll(() => proxy.relayed.filter(isPut).length).toBe(2);
    release.resolve();
    await finish(file);
    expect((await contentOf(path))?.length).toBe(3 * PART);
  });

  test.each<[string, Fault, typeof QUICK]>([
    ['503 SlowDown', SLOW_DOWN, QUICK],
    ['a connection that is lost', { kind: 'reset' }, QUICK],
    ['an answer that is lost', { kind: 'lost' }, QUICK],
    ['a server that stands still', { kind: 'hang' }, SHORT_IDLE],
  ])('%s, at every third request: the same bytes', async (_what, fault, retryPolicy) => {
    const path = newPath();
    let hangs = 0;
    proxy.faultFor = ({ number, method }) =>
      method !== 'GET' && number % 3 === 0 && (fault.kind !== 'hang' || ++hangs < 3) ? fault : null;
    const file = await storageWith(retryPolicy).open(path, 0, undefined, newFence());
    const more = Buffer.from('more');
    if (fault.kind !== 'hang') await append(file, 18);
    file.append(more);
    await keep(file);
    file.append(more);
    await finish(file);
    expect(
      (await contentOf(path))?.equals(
        Buffer.concat([...(fault.kind === 'hang' ? [] : Array.from({ length: 18 }, () => bytes)), more, more]),
      ),
    ).toBe(true);
    expect(await bucket.uploads()).toEqual([]);
  });

  test('missing S3 is 74 with a remedy in every later call; credentials are 77; no permission or no bucket is 74', async () => {
    const file = await storage.open(newPath(), 0, undefined, newFence());
    file.append(bytes);
    proxy.faultFor = () => SLOW_DOWN;
    const failed = {
      exitCode: 74,
      code: 'output_failed',
      message: expect.stringContaining('did not answer (SlowDown, HTTP 503'),
      hint: expect.stringContaining('Wait until S3 answers'),
    };
    await expect(file.sync()).rejects.toMatchObject(failed);
    proxy.faultFor = () => null;
    await expect(file.sync()).rejects.toMatchObject(failed);
    expect(() => file.room()).toThrow(expect.objectContaining({ exitCode: 74 }));
    await file.close();
    const refused = new S3Storage({ client: clientOf(server, proxy.url, 'stranger'), retryPolicy: QUICK });
    const denied = await refused.open(newPath(), 0, undefined, newFence()).catch((error: unknown) => error);
    expect(denied).toMatchObject({
      exitCode: 74,
      message: expect.stringContaining('does not permit it'),
      hint: expect.stringContaining('s3:PutObject'),
    });
    await expect(storage.open('s3://no-such-bucket-here/out.csv', 0, undefined, newFence())).rejects.toMatchObject({
      exitCode: 74,
      hint: expect.stringContaining('Make the bucket'),
    });
    proxy.faultFor = () => ({ kind: 'answer', status: 403, body: '<Error><Code>ExpiredToken</Code></Error>' });
    await expect(storage.open(newPath(), 0, undefined, newFence())).rejects.toMatchObject({ exitCode: 77, code: 's3_credentials' });
  });

  test('a server without tags refuses them once, and gets parts without tags', async () => {
    const path = newPath();
    proxy.faultFor = ({ headers }) =>
      headers['x-amz-tagging'] === undefined ? null : { kind: 'answer', status: 501, body: '<Error><Code>NotImplemented</Code></Error>' };
    const file = await storage.open(path, 0, undefined, newFence());
    await append(file, 9);
    await keep(file);
    await finish(file);
    expect((await contentOf(path))?.length).toBe(9 * MIB);
    expect(proxy.relayed.filter(({ fault }) => fault !== null).length).toBeLessThanOrEqual(2);
  });

  test("a successor aborts a dead run's upload, and no other upload", async () => {
    const path = newPath();
    const [, , bucketName = '', key = ''] = /^(s3:)\/\/([^/]+)\/(.*)$/.exec(path) ?? [];
    const { UploadId } = await bucket.client.send(new CreateMultipartUploadCommand({ Bucket: bucketName, Key: key }));
    await bucket.client.send(new UploadPartCommand({ Bucket: bucketName, Key: key, UploadId, PartNumber: 1, Body: 'theirs' }));
    const die = new Error('lost');
    const left: string[] = [];
    for (const nth of [1, 2]) {
      // Killed after the upload has begun, and before it completes.
      const fence = newFence();
      const file = await storage.open(path, 0, undefined, fence);
      file.append(bytes);
      await file.sync();
      proxy.faultFor = ({ method, url }) =>
        (
          nth === 1
            ? method === 'PUT' && url.includes('.upload?') && left.push('record') > 1
            : method === 'POST' && url.includes('uploadId=')
        )
          ? { kind: 'answer', status: 400, body: '<Error><Code>InvalidRequest</Code></Error>' }
          : null;
      await expect(file.commit()).rejects.toMatchObject({ exitCode: 74 });
      proxy.faultFor = () => null;
      await file.close();
      expect(await bucket.uploads()).toHaveLength(2);
      await expect(
        storage.sweep(
          path,
          newFence(() => Promise.reject(die)),
        ),
      ).rejects.toMatchObject({ message: expect.stringContaining('lost') });
      expect(await bucket.uploads()).toHaveLength(2);
      await storage.sweep(path, newFence());
      expect(await bucket.uploads()).toHaveLength(1);
    }
  });
});
