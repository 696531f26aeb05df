/** Reads an object from a real server through a faulty network. */
import { createHash } from 'node:crypto';
import { afterAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { faultOf } from '../../src/s3/failure.ts';
import { headObject, type S3Access } from '../../src/s3/objects.ts';
import { RANGE_BYTES, readObject } from '../../src/s3/read-object.ts';
import { FaultProxy, SLOW_DOWN, type Fault, type Relayed } from '../services/fault-proxy.ts';
import { describeWith } from '../services/needed.ts';
import { clientOf, makeBucket } from './bucket.ts';

const MIB = 1024 * 1024;
const QUICK = { attempts: 4, baseMs: 1, capMs: 5, idleMs: 60_000 };
/** Long enough that a busy machine does not look hung. The two tests that wait for it take this long. */
const IDLE_MS = 3_000;

await describeWith('s3', 'an object read by ranges', async (server) => {
  const bucket = await makeBucket(server);
  const proxy = await FaultProxy.start(server['endpoint'] ?? '');
  const access: S3Access = { client: clientOf(server, proxy.url), retryPolicy: QUICK };
  const bytes = Buffer.from(
    Array.from({ length: (20 * MIB) / 64 }, (_, i) => createHash('sha512').update(String(i)).digest()).reduce(
      (all, part, i) => (part.copy(all, i * 64), all),
      Buffer.alloc(20 * MIB),
    ),
  );
  await bucket.put('leads.csv', bytes);
  const { etag } = await headObject(access, { bucket: bucket.name, key: 'leads.csv' });
  const place = { bucket: bucket.name, key: 'leads.csv', etag };

  afterAll(() => proxy.stop());
  beforeEach(() => {
    proxy.relayed.length = 0;
    proxy.faultFor = () => null;
  });

  const gets = (): Relayed[] => proxy.relayed.filter(({ method }) => method === 'GET');
  const relayedBytes = (): number => gets().reduce((sum, one) => sum + one.bytes, 0);
  const readAll = async (start = 0, retryPolicy = QUICK): Promise<Buffer> => {
    const parts: Buffer[] = [];
    for await (const chunk of readObject({ ...access, retryPolicy }, place, { start, end: bytes.length }, { chunkBytes: 65_536 }))
      parts.push(chunk);
    return Buffer.concat(parts);
  };
  /** Injects the fault into the nth GET (from 1). */
  const breakGet = (nth: number, fault: Fault): void => {
    let seen = 0;
    proxy.faultFor = ({ method }) => (method === 'GET' && ++seen === nth ? fault : null);
  };

  test('an object arrives complete, in ranges of 8 MiB, each requested with its ETag', async () => {
    expect((await readAll()).equals(bytes)).toBe(true);
    expect(gets().map(({ range }) => range)).toEqual([
      `bytes=0-${MIB / 2 - 1}`,
      `bytes=${MIB / 2}-${MIB / 2 + RANGE_BYTES - 1}`,
      `bytes=${MIB / 2 + RANGE_BYTES}-${MIB / 2 + 2 * RANGE_BYTES - 1}`,
      `bytes=${MIB / 2 + 2 * RANGE_BYTES}-${20 * MIB - 1}`,
    ]);
  });

  test('a read begins at its offset and fetches nothing before it', async () => {
    expect((await readAll(19 * MIB + 5)).equals(bytes.subarray(19 * MIB + 5))).toBe(true);
    expect(relayedBytes()).toBe(MIB - 5);
  });

  test('a caller that reads only the beginning fetches 512 KiB', async () => {
    for await (const _ of readObject(access, place, { start: 0, end: bytes.length }, { chunkBytes: 65_536 })) break;
    expect(relayedBytes()).toBe(MIB / 2);
  });

  test('a stalled consumer holds two ranges at most, and no connection', async () => {
    const reading = readObject(access, place, { start: 0, end: bytes.length }, { chunkBytes: 65_536 });
    for (let i = 0; i < 12; i++) await reading.next();
    // The next range is fetched to its end although no consumer reads it, and none after it.
    await expect.poll(() => relayedBytes()).toBe(MIB / 2 + 2 * RANGE_BYTES);
    expect(gets().length).toBe(3);
    await reading.return();
  });

  test.each<[string, Fault, number]>([
    ['a connection that is cut in the middle', { kind: 'cut', afterBytes: 5 * MIB }, MIB],
    ['bytes that stop coming', { kind: 'stall', afterBytes: 5 * MIB }, MIB],
    ['503 SlowDown', SLOW_DOWN, 0],
    ['a reset before the answer', { kind: 'reset' }, 0],
    ['no answer at all', { kind: 'hang' }, 0],
  ])('%s costs no more than the bytes that were under way', async (_name, fault, again) => {
    breakGet(2, fault);
    expect(
      (await readAll(0, { ...QUICK, idleMs: fault.kind === 'stall' || fault.kind === 'hang' ? IDLE_MS : QUICK.idleMs })).equals(bytes),
    ).toBe(true);
    expect(gets().length).toBe(5);
    // Bytes in the sockets' buffers had left the server without arriving, and are sent again.
    expect(relayedBytes()).toBeLessThanOrEqual(bytes.length + again);
  });

  test('progress between failures resets their count', async () => {
    proxy.faultFor = ({ method }) => (method === 'GET' ? { kind: 'cut', afterBytes: MIB } : null);
    expect((await readAll(0, { ...QUICK, attempts: 2 })).equals(bytes)).toBe(true);
  });

  test('a server that stays away ends the read with a temporary failure', async () => {
    proxy.faultFor = () => SLOW_DOWN;
    const failed = await readAll().catch((error: unknown) => error);
    expect(faultOf(failed)).toBe('passing');
    expect(gets().length).toBe(QUICK.attempts);
  });

  test('a read notices at the next range that the object was replaced', async () => {
    await bucket.put('other.csv', bytes);
    const other = { ...place, key: 'other.csv' };
    const reading = readObject(access, other, { start: 0, end: bytes.length }, { chunkBytes: RANGE_BYTES });
    await reading.next();
    await bucket.put('other.csv', Buffer.alloc(bytes.length));
    const failed = await (async () => {
      for await (const _ of reading);
    })().catch((error: unknown) => error);
    expect(faultOf(failed)).toBe('changed');
  });

  test('an aborted read ends at once', async () => {
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    proxy.faultFor = ({ method }) => (method === 'GET' ? { kind: 'hang' } : null);
    const reading = readObject(access, place, { start: 0, end: 10 }, { chunkBytes: 10, signal: stop.signal }).next();
    await expect.poll(() => gets().length).toBe(1);
    stop.abort(new Error('stopped'));
    await expect(reading).rejects.toThrow('stopped');
  });
});
