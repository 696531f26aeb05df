import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import type { Limits } from '../../../src/service/guards/limits.ts';
import { loadPeople } from '../../../src/service/store/rows/load.ts';
import { cleanUp } from '../../support/clean-up.ts';
import { KEY, makeStore, serveStore } from '../harness.ts';
import { jobsOf, ndjson } from './jobs.ts';

/** A service with results that exceed the buffers of a connection, and connections that request them and read nothing. */
async function serveBig(limits: Partial<Limits>) {
  const big = { id: 'pe_big', name: 'Big Record', summary: 'x'.repeat(10_000), headline: 'y'.repeat(10_000) };
  const store = await makeStore((open) => void loadPeople(open, [big], 'test'));
  const service = await serveStore({ store, limits });
  const jobs = jobsOf(service);
  const { id } = await jobs.run({ operation: 'enrich' }, ndjson(...Array.from({ length: 1_000 }, () => ({ id: 'pe_big' }))));
  const read = (): Socket => {
    const socket = connect(service.port, '127.0.0.1');
    cleanUp(() => void socket.destroy());
    socket.on('error', () => undefined);
    socket.write(`GET /v1/batches/${id}/results HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${KEY}\r\n\r\n`);
    return socket;
  };
  const readNothing = async (): Promise<Socket> => {
    const socket = read();
    await once(socket, 'data');
    return socket.pause();
  };
  return { service, jobs, id, read, readNothing };
}

it('slow readers of results do not block other requests, and their number is limited', async () => {
  const { service, jobs, id, read, readNothing } = await serveBig({ inFlight: 2, transfersPerKey: 3 });
  const readers = [await readNothing(), await readNothing(), await readNothing()];
  expect((await service.post('/v1/enrich', { id: 'pe_1' })).status).toBe(200);
  expect(await text(read())).toMatch(/^HTTP\/1\.1 503 .*retry-after: 10.*"code":"overloaded"/s);
  readers[0]?.destroy();
  await expect.poll(async () => (await jobs.send('GET', `/${id}/results?set=failed`)).status).toBe(200);
});

it('the connection of a reader that stalls for too long is closed, and makes room for another', async () => {
  const { jobs, id, read, readNothing } = await serveBig({
    headersTimeoutMs: 1_000,
    stalledMs: 1_000,
    transferBytesPerS: 1024 ** 2,
    transfersPerKey: 1,
  });
  const reader = await readNothing();
  await expect.poll(async () => (await jobs.send('GET', `/${id}/results?set=failed`)).status).toBe(200);
  // The reader gets the bytes that were sent, but not the end.
  expect(await text(reader)).not.toContain('"line":1000,');
  expect(await text(read())).toMatch(/"line":1000,.*\r\n0\r\n\r\n$/s);
});
