/** A bucket in another region than the environment's. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import { assemble } from '../../src/s3/assemble.ts';
import { makeS3Client } from '../../src/s3/client.ts';
import { headObject } from '../../src/s3/objects.ts';
import { deleteObject, getSmall, putSmall } from '../../src/s3/small-object.ts';
import { describeWith } from '../services/needed.ts';
import type { Fault, Relayed } from '../services/fault-proxy.ts';
import { faultyBucket } from './faulty-bucket.ts';

const QUICK = { attempts: 2, baseMs: 1, capMs: 5, idleMs: 60_000 };
const THERE = 'eu-central-1';
const MOVED: Fault = {
  kind: 'answer',
  status: 301,
  headers: { 'x-amz-bucket-region': THERE },
  body: '<Error><Code>PermanentRedirect</Code><Message>elsewhere</Message></Error>',
};
const MALFORMED: Fault = {
  kind: 'answer',
  status: 400,
  body: `<Error><Code>AuthorizationHeaderMalformed</Code><Message>expecting ${THERE}</Message><Region>${THERE}</Region></Error>`,
};
/** The answer to a HEAD. */
const BAD: Fault = { kind: 'answer', status: 400, headers: { 'x-amz-bucket-region': THERE } };

const signedFor = ({ headers }: Pick<Relayed, 'headers'>): string | undefined =>
  /Credential=[^/]+\/\d+\/([^/]+)\//.exec(String(headers['authorization']))?.[1];

await describeWith('s3', 'a bucket of another region', async (server) => {
  const { bucket, proxy, env } = await faultyBucket(server);
  const place = (key: string): { bucket: string; key: string } => ({ bucket: bucket.name, key });
  const guard = { begins: async () => {}, begun: async () => {}, check: async () => {} };

  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  afterAll(() => vi.unstubAllEnvs());
  beforeEach(() => {
    proxy.faultFor = (request) => (signedFor(request) === THERE ? null : MOVED);
  });

  test.each([1_000, 200_000])('uploads of %d bytes arrive complete, and the wrong region is asked once', async (size) => {
    const access = { client: await makeS3Client(), retryPolicy: QUICK };
    const bytes = randomBytes(size);
    await putSmall(access, place('one'), bytes);
    expect(await bucket.get('one')).toEqual(bytes);
    await putSmall(access, place('two'), bytes);
    expect((await getSmall(access, place('two'), Infinity))?.bytes).toEqual(bytes);
    await assemble(access, place('both'), [{ place: place('two'), at: 0, bytes: size }], guard);
    expect((await headObject(access, place('both'))).size).toBe(size);
    await deleteObject(access, place('both'));
    expect(proxy.relayed.map(signedFor)).toEqual(['us-east-1', ...Array.from({ length: proxy.relayed.length - 1 }, () => THERE)]);
  });

  test('concurrent requests find the region at once', async () => {
    const access = { client: await makeS3Client(), retryPolicy: QUICK };
    const all = Array.from({ length: 8 }, (_, i) => ({ key: `many/${i}`, bytes: randomBytes(100_000) }));
    await Promise.all(all.map(({ key, bytes }) => putSmall(access, place(key), bytes)));
    for (const { key, bytes } of all) expect(await bucket.get(key)).toEqual(bytes);
  });

  test.each<[string, Fault]>([
    ['a body', MALFORMED],
    ['a header', BAD],
  ])('a 400 reveals the region by %s', async (_what, fault) => {
    proxy.faultFor = (request) => (signedFor(request) === THERE ? null : fault);
    await bucket.put('known', 'x');
    expect(await headObject({ client: await makeS3Client(), retryPolicy: QUICK }, place('known'))).toMatchObject({ size: 1 });
    expect((await getSmall({ client: await makeS3Client(), retryPolicy: QUICK }, place('known'), Infinity))?.bytes.toString()).toBe('x');
  });

  test.each(['nowhere.example.com/#', 'us-east-1', 'eu-west-1'])('the search for the region ends when S3 answers %s', async (region) => {
    proxy.faultFor = () => ({ ...MOVED, headers: { 'x-amz-bucket-region': region } });
    await expect(putSmall({ client: await makeS3Client(), retryPolicy: QUICK }, place('x'), randomBytes(100_000))).rejects.toMatchObject({
      name: 'PermanentRedirect',
    });
    expect(proxy.relayed.length).toBe(region === 'eu-west-1' ? 2 : 1);
  });
});
