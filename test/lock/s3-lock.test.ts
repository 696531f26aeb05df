/** The lock in S3: one holder at a time, whether or not the server honours conditions. */
import { randomUUID } from 'node:crypto';
import type { S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { ourselves, type Holder } from '../../src/lock/holder.ts';
import { S3LockPlace } from '../../src/lock/s3-lock.ts';
import { S3Storage } from '../../src/storage/s3-storage.ts';
import { clientOf, makeBucket } from '../s3/bucket.ts';
import { S3StandIn } from '../s3/stand-in.ts';
import { FaultProxy } from '../services/fault-proxy.ts';
import { describeWith } from '../services/needed.ts';

const QUICK = { attempts: 4, baseMs: 1, capMs: 5, idleMs: 60_000 };
const NOW = Date.now();

vi.mock('node:timers/promises', async (original) => {
  const real = await original<{ setTimeout: (ms: number, ...more: unknown[]) => Promise<void> }>();
  // These waits depend on the server, not on a clock of the test, so they are shortened.
  return { ...real, setTimeout: (ms: number, ...more: unknown[]) => real.setTimeout(Math.min(ms, 50), ...more) };
});

test('a starting run reads the lock with the retry policy of any other object', async () => {
  const s3 = await S3StandIn.start();
  const lock = new S3LockPlace(
    { path: 's3://bucket/lock', now: () => NOW },
    new S3Storage({ client: clientOf({ owner: 'secret' }, s3.url), retryPolicy: { ...QUICK, attempts: 8 } }),
  );
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
    new S3LockPlace(
      { path: `s3://${bucket.name}/${key}`, now: () => NOW, onWeak: (message) => messages.push(message) },
      new S3Storage({ client, retryPolicy: QUICK }),
    );
  const holder = (more: Partial<Holder> = {}): Holder => ({ ...ourselves(NOW), ...more });
  const inBucket = async (): Promise<Holder> => JSON.parse(String(await bucket.get(key))) as Holder;

  afterAll(() => proxy.stop());
  beforeEach(() => {
    key = `${randomUUID()}/lock`;
    messages.length = 0;
    proxy.faultFor = () => null;
  });

  test('one of many runs gets the lock and holds it until its release', async () => {
    const holders = Array.from({ length: 8 }, () => holder());
    const handles = await Promise.all(holders.map((candidate) => place().create(candidate)));
    const winner = handles.findIndex((handle) => handle !== null);
    expect(handles.filter((handle) => handle !== null)).toHaveLength(1);
    expect(await place().create(holder())).toBeNull();
    expect(await inBucket()).toEqual(holders[winner]);
    expect(await handles[winner]?.isOurs()).toBe(true);
    await handles[winner]?.release();
    expect(await place().read()).toBeNull();
    expect(await place().create(holder())).not.toBeNull();
    expect(messages).toEqual([]);
  });

  test('the holder of a lock renews it, and a reader gets its age from the server', async () => {
    const ours = holder();
    const handle = await place().create(ours);
    expect(await handle?.renew({ ...ours, renewedAt: 7, overtook: true })).toBe(true);
    expect(await inBucket()).toMatchObject({ nonce: ours.nonce, renewedAt: 7, overtook: true });
    proxy.faultFor = ({ method }) => (method === 'GET' ? { kind: 'aged', byMs: 3_600_000 } : null);
    const { renewedAt = 0 } = (await place().read()) ?? {};
    expect(NOW - renewedAt).toBeGreaterThanOrEqual(3_600_000);
    expect(NOW - renewedAt).toBeLessThan(3_700_000);
  });

  test("one of many successors gets a dead holder's lock, and the old holder has lost it", async () => {
    const dead = holder();
    const before = await place().create(dead);
    const places = Array.from({ length: 6 }, () => place());
    await Promise.all(places.map((successor) => successor.read()));
    const taken = await Promise.all(places.map((successor) => successor.takeOver(dead, holder())));
    expect(taken.filter((result) => result !== 'changed')).toHaveLength(1);
    expect([await before?.isOurs(), await before?.renew(dead)]).toEqual([false, false]);
    expect((await inBucket()).nonce).not.toBe(dead.nonce);
  });

  test('a holder that renewed the lock since it was read keeps it', async () => {
    const ours = holder();
    const handle = await place().create(ours);
    const other = place();
    await other.read();
    await handle?.renew(ours);
    await handle?.renew({ ...ours, renewedAt: 8 });
    expect(await other.takeOver(ours, holder())).toBe('changed');
    expect(await handle?.isOurs()).toBe(true);
  });

  test('a holder whose write lost its answer keeps the lock', async () => {
    const ours = holder();
    let writes = 0;
    proxy.faultFor = ({ method }) => (method === 'PUT' && ++writes % 2 === 1 ? { kind: 'lost' } : null);
    const handle = await place().create(ours);
    for (let i = 0; i < 3; i++) expect(await handle?.renew({ ...ours, renewedAt: i })).toBe(true);
    expect(await inBucket()).toMatchObject({ nonce: ours.nonce, renewedAt: 2 });
  });

  test('a run loses its lock when it is removed or replaced by a foreign text', async () => {
    const handle = await place().create(holder());
    await bucket.put(key, 'a text');
    expect(await handle?.isOurs()).toBe(false);
    expect(await place().read()).toMatchObject({ nonce: 'a text', host: 'an unknown host', overtook: true });
    await handle?.release();
    expect(await place().read()).toBeNull();
    expect(await handle?.isOurs()).toBe(false);
  });

  test('the synchronous check reports an expired lease, and the other check renews it', async () => {
    const began = performance.now();
    const clock = vi.spyOn(performance, 'now');
    try {
      const handle = await place().create(holder());
      expect(handle?.isOursNow()).toBe(true);
      clock.mockImplementation(() => began + 60_000);
      expect(() => handle?.isOursNow()).toThrow('could not be renewed for 30 s');
      expect(await handle?.isOurs()).toBe(true);
      expect(handle?.isOursNow()).toBe(true);
    } finally {
      clock.mockRestore();
    }
  });

  test('a run ends with 74 and names the lock when S3 does not answer', async () => {
    proxy.faultFor = () => ({ kind: 'answer', status: 503 });
    const failed = { exitCode: 74, code: 'lock_failed', message: expect.stringContaining(key), hint: expect.stringContaining('S3') };
    await expect(place().create(holder())).rejects.toMatchObject(failed);
    await expect(place().read()).rejects.toMatchObject(failed);
  });

  describe.each<[string, () => S3Client]>([
    ['has no conditional writes (501)', () => clientOf(server, proxy.url)],
    ['ignores conditions', () => unconditional(clientOf(server))],
  ])('a server that %s', (_what, client) => {
    beforeEach(() => {
      proxy.faultFor = ({ headers }) =>
        headers['if-match'] === undefined && headers['if-none-match'] === undefined
          ? null
          : { kind: 'answer', status: 501, body: '<Error><Code>NotImplemented</Code></Error>' };
    });

    test('leaves the lock to its holder when other runs come later', async () => {
      const ours = holder();
      const handle = await place(client()).create(ours);
      for (let i = 0; i < 2; i++) expect(await place(client()).create(holder())).toBeNull();
      expect(await inBucket()).toEqual(ours);
      expect([await handle?.isOurs(), await handle?.renew(ours)]).toEqual([true, true]);
    });

    test('reports the weak protection, and the last writer has the lock', async () => {
      const handles = await Promise.all(Array.from({ length: 4 }, () => place(client()).create(holder())));
      // Two runs may have read before either wrote. Only one is in the lock at their second read.
      const still = await Promise.all(handles.map((handle) => handle?.isOurs() ?? Promise.resolve(false)));
      expect(still.filter((isOurs) => isOurs).length).toBeLessThanOrEqual(1);
      expect(messages[0]).toContain('no conditional writes');
      const owner = await inBucket();
      const late = place(client());
      expect(await late.read()).toMatchObject({ nonce: owner.nonce });
      const taken = await late.takeOver(owner, holder());
      if (taken === 'changed') throw new Error('no other run wanted the lock');
      for (const handle of handles) if (handle !== null) expect([await handle.isOurs(), await handle.renew(owner)]).toEqual([false, false]);
      expect([await taken.isOurs(), await taken.renew(await inBucket())]).toEqual([true, true]);
      await taken.release();
    });
  });
});

/** Removes the conditions before the request is signed. */
function unconditional(client: S3Client): S3Client {
  client.middlewareStack.add(
    (next) => async (args) => {
      const { headers } = args.request as { headers: Record<string, string> };
      delete headers['if-match'];
      delete headers['if-none-match'];
      return next(args);
    },
    { step: 'build', priority: 'high' },
  );
  return client;
}
