/** Joins parts in S3. Bytes that are taken unchanged are not uploaded again. */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { s3Storage } from '../../src/storage/s3-storage.ts';
import { compressMember } from '../../src/formats/compression/compressor.ts';
import { joinParts, type JoinedFile, type RowsFile } from '../../src/writer/joined-file.ts';
import { makeBucket, s3Environment } from '../s3/bucket.ts';
import { FaultProxy, SLOW_DOWN, type Fault, type Relayed } from '../services/fault-proxy.ts';
import { describeWith } from '../services/needed.ts';
import { ALONE } from '../support/fence.ts';
import { sampleOf } from '../support/sample.ts';
import { SEED } from '../support/seed.ts';

const MIB = 1024 * 1024;
const signal = new AbortController().signal;

await describeWith('s3', 'parts in S3', async (server) => {
  const bucket = await makeBucket(server);
  const proxy = await FaultProxy.start(server['endpoint'] ?? '');
  // Set before the process's client is created.
  Object.assign(process.env, s3Environment(server, proxy.url));
  const storage = await s3Storage();
  let prefix = '';
  const at = (name: string): string => `s3://${bucket.name}/${prefix}${name}`;
  const fence = (): typeof ALONE => ({ ...ALONE, id: randomUUID().slice(0, 8) });

  afterAll(() => proxy.stop());
  beforeEach(() => {
    prefix = `${randomUUID()}/`;
    proxy.relayed.length = 0;
    proxy.faultFor = () => null;
  });

  async function putParts(contents: readonly Buffer[], full: readonly number[] = []): Promise<RowsFile[]> {
    return Promise.all(
      contents.map(async (content, i) => {
        await bucket.put(`${prefix}part-${i}`, content);
        return {
          path: at(`part-${i}`),
          version: (await storage.version(at(`part-${i}`))) ?? '',
          bytes: content.length,
          sha256: createHash('sha256').update(content).digest('hex'),
          fullBytes: full[i] ?? content.length,
          header: i === 0,
        };
      }),
    );
  }

  const join = (parts: readonly RowsFile[], compression: 'none' | 'gzip' = 'none', rows = 5_000): Promise<JoinedFile> =>
    joinParts({ path: at('out'), parts, compression, quoted: false, fence: fence(), signal, member: { rows, bytes: 64 * MIB } });

  /** Publishes the file as a job does whose checkpoint says `finishing`, perhaps in another process. */
  async function putInPlace({ bytes, kept }: JoinedFile): Promise<void> {
    const file = await storage.open(at('out'), bytes, JSON.parse(JSON.stringify(kept)) as typeof kept, fence());
    try {
      await file.sync();
      await file.commit();
    } finally {
      await file.close();
    }
    await storage.dropUnfinished(at('out'), fence());
  }

  /** Bytes of request bodies sent for the output, including texts of a few bytes. */
  const uploaded = (): number =>
    proxy.relayed
      .filter(({ method, url }: Relayed) => method === 'PUT' && url.includes(`${prefix}out`))
      .reduce((sum, { sent }) => sum + sent, 0);

  async function expectJoined(joined: JoinedFile, whole: Buffer): Promise<void> {
    expect([joined.bytes, joined.sha256]).toEqual([whole.length, createHash('sha256').update(whole).digest('hex')]);
    expect((await bucket.get(`${prefix}out`))?.equals(whole)).toBe(true);
    expect([(await bucket.names(prefix)).filter((key) => !key.includes('/part-')), await bucket.uploads()]).toEqual([[`${prefix}out`], []]);
  }

  test.each<[string, readonly number[], number]>([
    ['large ones: nothing', [9 * MIB, 11 * MIB], 0],
    [
      'small ones: as they are at the end, with as much of the next as makes a part before that',
      [6 * MIB, MIB, 5, 0, 12 * MIB, MIB],
      6 * MIB + 1,
    ],
    ['all small: all', [MIB, 2 * MIB], 3 * MIB],
  ])('only %s is uploaded', async (_what, sizes, most) => {
    const contents = sizes.map((size) => randomBytes(size));
    const joined = await join(await putParts(contents));
    expect(await storage.unfinished(at('out'))).toContain('out.partial');
    await putInPlace(joined);
    await expectJoined(joined, Buffer.concat(contents));
    expect(uploaded() - most).toBeGreaterThanOrEqual(0);
    expect(uploaded() - most).toBeLessThan(1_000);
  });

  test('full members are not uploaded, and rows after a shorter member are', async () => {
    const rows = Array.from({ length: 15 }, () => Buffer.from(`${randomBytes(MIB / 2).toString('hex')}\n`));
    const members = async (from: number, to: number): Promise<Buffer> => {
      const made: Buffer[] = [];
      for (let i = from; i < to; i += 12) made.push(await compressMember('gzip', Buffer.concat(rows.slice(i, Math.min(i + 12, to)))));
      return Buffer.concat(made);
    };
    const [first, full, second] = [await members(0, 13), await members(0, 12), await members(13, 15)];
    const joined = await join(
      (await putParts([first, second], [full.length, second.length])).map((part) => ({ ...part, header: false })),
      'gzip',
      12,
    );
    await putInPlace(joined);
    const whole = await members(0, 15);
    await expectJoined(joined, whole);
    expect(uploaded() - (whole.length - full.length)).toBeLessThan(1_000);
  });

  test.each<[string, Fault]>(
    sampleOf(
      [
        ['503 SlowDown', SLOW_DOWN],
        ['a connection that is reset', { kind: 'reset' }],
        ['an answer that is lost', { kind: 'lost' }],
      ],
      1,
    ),
  )(`%s, at every third request: the same bytes (SEED=${SEED})`, async (_what, fault) => {
    const contents = [6 * MIB, MIB, 11 * MIB].map((size) => randomBytes(size));
    const parts = await putParts(contents);
    proxy.faultFor = ({ number, url }) => (number % 3 === 0 && url.includes(prefix.slice(0, 36)) ? fault : null);
    const joined = await join(parts);
    await putInPlace(joined);
    proxy.faultFor = () => null;
    expect(proxy.relayed.filter((one) => one.fault !== null).length).toBeGreaterThan(3);
    await expectJoined(joined, Buffer.concat(contents));
  });

  test('a part that was replaced is 74, before the copy and after it, and nothing is published', async () => {
    const contents = [randomBytes(7 * MIB), randomBytes(6 * MIB)];
    const replaced = randomBytes(6 * MIB);
    const joined = await join(await putParts(contents));
    // Between the check of the parts and the copies.
    proxy.faultFor = ({ method, url }) =>
      method === 'PUT' && url.includes('partNumber=2') ? { kind: 'held', until: bucket.put(`${prefix}part-1`, replaced) } : null;
    const failed = { exitCode: 74, code: 'partial_too_short', message: expect.stringContaining('part-1 is not what it was') };
    await expect(putInPlace(joined)).rejects.toMatchObject(failed);
    proxy.faultFor = () => null;
    await expect(putInPlace(joined)).rejects.toMatchObject({
      exitCode: 74,
      message: expect.stringContaining('lacks parts'),
      hint: expect.stringContaining('--fresh'),
    });
    expect(await bucket.get(`${prefix}out`)).toBeNull();
    await (await storage.open(at('out'), 0, undefined, fence())).discard();
    expect([await bucket.names(prefix), await bucket.uploads()]).toEqual([[`${prefix}part-0`, `${prefix}part-1`], []]);
  });
});
