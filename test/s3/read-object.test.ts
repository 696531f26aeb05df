/** Reading an object from a real server, with what networks do to it in between. */
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
/** Long enough that a busy machine does not stand still for it, and as long as the two tests take that wait for it. */
const IDLE_MS = 3_000;

await describeWith('s3', 'an object read by ranges', async (server) => {
  const bucket = await makeBucket(server);
  const proxy = await FaultProxy.start(server['endpoint'] ?? '');
  const access: S3Access = { client: clientOf(server, proxy.url), patience: QUICK };
  const bytes = Buffer.from(Array.from({ length: 20 * MIB / 64 }, (_, i) => createHash('sha512').update(String(i)).digest()).reduce((all, part, i) => (part.copy(all, i * 64), all), Buffer.alloc(20 * MIB)));
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
  const readAll = async (start = 0, patience = QUICK): Promise<Buffer> => {
    const parts: Buffer[] = [];
    for await (const chunk of readObject({ ...access, patience }, place, { start, end: bytes.length }, { chunkBytes: 65_536 })) parts.push(chunk);
    return Buffer.concat(parts);
  };
  /** The nth GET (from 1) meets the fault. */
  const breakGet = (nth: number, fault: Fault): void => {
    let seen = 0;
    proxy.faultFor = ({ method }) => (method === 'GET' && ++seen === nth ? fault : null);
  };

  test('comes whole, in ranges of 8 MiB, each with the ETag that it had', async () => {
    expect((await readAll()).equals(bytes)).toBe(true);
    expect(gets().map(({ range }) => range)).toEqual([`bytes=0-${MIB / 2 - 1}`, `bytes=${MIB / 2}-${MIB / 2 + RANGE_BYTES - 1}`, `bytes=${MIB / 2 + RANGE_BYTES}-${MIB / 2 + 2 * RANGE_BYTES - 1}`, `bytes=${MIB / 2 + 2 * RANGE_BYTES}-${20 * MIB - 1}`]);
  });

  test('begins where it is told: what stands before is not fetched', async () => {
    expect((await readAll(19 * MIB + 5)).equals(bytes.subarray(19 * MIB + 5))).toBe(true);
    expect(relayedBytes()).toBe(MIB - 5);
  });

  test('whoever looks only at the beginning pays for no more', async () => {
    for await (const _ of readObject(access, place, { start: 0, end: bytes.length }, { chunkBytes: 65_536 })) break;
    expect(relayedBytes()).toBe(MIB / 2);
  });

  test('a reader that stands still holds two ranges at most, and no connection', async () => {
    const reading = readObject(access, place, { start: 0, end: bytes.length }, { chunkBytes: 65_536 });
    for (let i = 0; i < 12; i++) await reading.next();
    // The next range is asked for; it is fetched to its end although nobody reads it, and nothing after it is asked for.
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
  ])('%s costs no more than what was under way', async (_name, fault, again) => {
    breakGet(2, fault);
    expect((await readAll(0, { ...QUICK, idleMs: fault.kind === 'stall' || fault.kind === 'hang' ? IDLE_MS : QUICK.idleMs })).equals(bytes)).toBe(true);
    expect(gets().length).toBe(5);
    // What had left the server and not arrived is sent once more: the sockets' buffers.
    expect(relayedBytes()).toBeLessThanOrEqual(bytes.length + again);
  });

  test('failures count only while nothing comes between them', async () => {
    proxy.faultFor = ({ method }) => (method === 'GET' ? { kind: 'cut', afterBytes: MIB } : null);
    expect((await readAll(0, { ...QUICK, attempts: 2 })).equals(bytes)).toBe(true);
  });

  test('a server that stays gone is given up, as a failure that may pass', async () => {
    proxy.faultFor = () => SLOW_DOWN;
    const failed = await readAll().catch((error: unknown) => error);
    expect(faultOf(failed)).toBe('passing');
    expect(gets().length).toBe(QUICK.attempts);
  });

  test('an object that is replaced meanwhile is noticed at the next range', async () => {
    await bucket.put('other.csv', bytes);
    const other = { ...place, key: 'other.csv' };
    const reading = readObject(access, other, { start: 0, end: bytes.length }, { chunkBytes: RANGE_BYTES });
    await reading.next();
    await bucket.put('other.csv', Buffer.alloc(bytes.length));
    const failed = await (async () => { for await (const _ of reading); })().catch((error: unknown) => error);
    expect(faultOf(failed)).toBe('changed');
  });

  test('whoever stops is not kept waiting', async () => {
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    proxy.faultFor = ({ method }) => (method === 'GET' ? { kind: 'hang' } : null);
    const reading = readObject(access, place, { start: 0, end: 10 }, { chunkBytes: 10, signal: stop.signal }).next();
    await expect.poll(() => gets().length).toBe(1);
    stop.abort(new Error('stopped'));
    await expect(reading).rejects.toThrow('stopped');
  });
});
