/** A lock in S3: one holder at a time, whatever the server makes of conditions. */
import { randomUUID } from 'node:crypto';
import type { S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { ourselves, type Holder } from '../../src/checkpoint/holder.ts';
import { S3LockPlace } from '../../src/storage/s3-lock.ts';
import { S3Storage } from '../../src/storage/s3-storage.ts';
import { clientOf, makeBucket } from '../s3/bucket.ts';
import { S3StandIn } from '../s3/stand-in.ts';
import { FaultProxy } from '../services/fault-proxy.ts';
import { describeWith } from '../services/needed.ts';

const QUICK = { attempts: 4, baseMs: 1, capMs: 5, idleMs: 60_000 };
const NOW = Date.now();

vi.mock('node:timers/promises', async (original) => {
  const real = await original<{ setTimeout: (ms: number, ...more: unknown[]) => Promise<void> }>();
  // What is waited for here is nobody's clock.
  return { ...real, setTimeout: (ms: number, ...more: unknown[]) => real.setTimeout(Math.min(ms, 50), ...more) };
});

test('a run that begins looks at the lock as patiently as at any other object', async () => {
  const s3 = await S3StandIn.start();
  const lock = new S3LockPlace({ path: 's3://bucket/lock', now: () => NOW }, new S3Storage({ client: clientOf({ owner: 'secret' }, s3.url), patience: { ...QUICK, attempts: 8 } }));
  s3.troubleFor = ({ number }) => (number < 8 ? 'throttled' : null);
  expect(await lock.read()).toBeNull();
  expect(s3.requests).toHaveLength(8);
  await s3.stop();
});

await describeWith('s3', 'a lock in S3', async (server) => {
  const bucket = await makeBucket(server);
  const proxy = await FaultProxy.start(server['endpoint'] ?? '');
  let key = '';
  const messages: string[] = [];
  const place = (client: S3Client = clientOf(server, proxy.url)): S3LockPlace =>
    new S3LockPlace({ path: `s3://${bucket.name}/${key}`, now: () => NOW, onWeak: (message) => messages.push(message) }, new S3Storage({ client, patience: QUICK }));
  const holder = (more: Partial<Holder> = {}): Holder => ({ ...ourselves(NOW), ...more });
  const inBucket = async (): Promise<Holder> => JSON.parse(String(await bucket.get(key))) as Holder;

  afterAll(() => proxy.stop());
  beforeEach(() => {
    key = `${randomUUID()}/lock`;
    messages.length = 0;
    proxy.faultFor = () => null;
  });

  test('of many who want it, one has it, until it lets go', async () => {
    const holders = Array.from({ length: 8 }, () => holder());
    const grips = await Promise.all(holders.map((one) => place().create(one)));
    const got = grips.findIndex((grip) => grip !== null);
    expect(grips.filter((grip) => grip !== null)).toHaveLength(1);
    expect(await place().create(holder())).toBeNull();
    expect(await inBucket()).toEqual(holders[got]);
    expect(await grips[got]?.isOurs()).toBe(true);
    await grips[got]?.letGo();
    expect(await place().read()).toBeNull();
    expect(await place().create(holder())).not.toBeNull();
    expect(messages).toEqual([]);
  });

  test('is renewed by its holder, and read with the age that the server gives it', async () => {
    const ours = holder();
    const grip = await place().create(ours);
    expect(await grip?.renew({ ...ours, renewedAt: 7, overtook: true })).toBe(true);
    expect(await inBucket()).toMatchObject({ nonce: ours.nonce, renewedAt: 7, overtook: true });
    proxy.faultFor = ({ method }) => (method === 'GET' ? { kind: 'aged', byMs: 3_600_000 } : null);
    const { renewedAt = 0 } = (await place().read()) ?? {};
    expect(NOW - renewedAt).toBeGreaterThanOrEqual(3_600_000);
    expect(NOW - renewedAt).toBeLessThan(3_700_000);
  });

  test('of many who take over from one that is gone, one succeeds, and the one before has lost it', async () => {
    const gone = holder();
    const before = await place().create(gone);
    const places = Array.from({ length: 6 }, () => place());
    await Promise.all(places.map((one) => one.read()));
    const taken = await Promise.all(places.map((one) => one.succeed(gone, holder())));
    expect(taken.filter((one) => one !== 'changed')).toHaveLength(1);
    expect([await before?.isOurs(), await before?.renew(gone)]).toEqual([false, false]);
    expect((await inBucket()).nonce).not.toBe(gone.nonce);
  });

  test('is not taken from one that has renewed it since it was looked at', async () => {
    const ours = holder();
    const grip = await place().create(ours);
    const other = place();
    await other.read();
    await grip?.renew(ours);
    await grip?.renew({ ...ours, renewedAt: 8 });
    expect(await other.succeed(ours, holder())).toBe('changed');
    expect(await grip?.isOurs()).toBe(true);
  });

  test('is still its holder\'s when the answer to a write was lost', async () => {
    const ours = holder();
    let writes = 0;
    proxy.faultFor = ({ method }) => (method === 'PUT' && ++writes % 2 === 1 ? { kind: 'lost' } : null);
    const grip = await place().create(ours);
    for (let i = 0; i < 3; i++) expect(await grip?.renew({ ...ours, renewedAt: i })).toBe(true);
    expect(await inBucket()).toMatchObject({ nonce: ours.nonce, renewedAt: 2 });
  });

  test('that was taken away, or is somebody else\'s text, is not ours', async () => {
    const grip = await place().create(holder());
    await bucket.put(key, 'a text');
    expect(await grip?.isOurs()).toBe(false);
    expect(await place().read()).toMatchObject({ nonce: 'a text', host: 'an unknown host', overtook: true });
    await grip?.letGo();
    expect(await place().read()).toBeNull();
    expect(await grip?.isOurs()).toBe(false);
  });

  test('a lease that could not be renewed says so where nobody can wait, and is renewed where one can', async () => {
    const began = performance.now();
    const clock = vi.spyOn(performance, 'now');
    try {
      const grip = await place().create(holder());
      expect(grip?.isOursNow()).toBe(true);
      clock.mockImplementation(() => began + 60_000);
      expect(() => grip?.isOursNow()).toThrow('could not be renewed for 30 s');
      expect(await grip?.isOurs()).toBe(true);
      expect(grip?.isOursNow()).toBe(true);
    } finally {
      clock.mockRestore();
    }
  });

  test('S3 that does not answer: 74, naming the lock', async () => {
    proxy.faultFor = () => ({ kind: 'answer', status: 503 });
    const failed = { exitCode: 74, code: 'lock_failed', message: expect.stringContaining(key), hint: expect.stringContaining('S3') };
    await expect(place().create(holder())).rejects.toMatchObject(failed);
    await expect(place().read()).rejects.toMatchObject(failed);
  });

  describe.each<[string, () => S3Client]>([
    ['has no conditional writes (501)', () => clientOf(server, proxy.url)],
    ['takes no notice of conditions', () => unconditional(clientOf(server))],
  ])('a server that %s', (_what, client) => {
    beforeEach(() => {
      proxy.faultFor = ({ headers }) => (headers['if-match'] === undefined && headers['if-none-match'] === undefined ? null : { kind: 'answer', status: 501, body: '<Error><Code>NotImplemented</Code></Error>' });
    });

    test('leaves it to the one that has it, whoever comes later', async () => {
      const ours = holder();
      const grip = await place(client()).create(ours);
      for (let i = 0; i < 2; i++) expect(await place(client()).create(holder())).toBeNull();
      expect(await inBucket()).toEqual(ours);
      expect([await grip?.isOurs(), await grip?.renew(ours)]).toEqual([true, true]);
    });

    test('is told of, and whoever writes last has the lock', async () => {
      const grips = await Promise.all(Array.from({ length: 4 }, () => place(client()).create(holder())));
      // Two may have looked before either wrote; only one is still there when they look again.
      const still = await Promise.all(grips.map((grip) => grip?.isOurs() ?? Promise.resolve(false)));
      expect(still.filter((isOurs) => isOurs).length).toBeLessThanOrEqual(1);
      expect(messages[0]).toContain('no conditional writes');
      const owner = await inBucket();
      const late = place(client());
      expect(await late.read()).toMatchObject({ nonce: owner.nonce });
      const taken = await late.succeed(owner, holder());
      if (taken === 'changed') throw new Error('nobody else wanted it');
      for (const grip of grips) if (grip !== null) expect([await grip.isOurs(), await grip.renew(owner)]).toEqual([false, false]);
      expect([await taken.isOurs(), await taken.renew(await inBucket())]).toEqual([true, true]);
      await taken.letGo();
    });
  });
});

/** The conditions are left out before the request is signed. */
function unconditional(client: S3Client): S3Client {
  client.middlewareStack.add((next) => async (args) => {
    const { headers } = args.request as { headers: Record<string, string> };
    delete headers['if-match'];
    delete headers['if-none-match'];
    return next(args);
  }, { step: 'build', priority: 'high' });
  return client;
}
