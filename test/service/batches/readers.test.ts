import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { loadPeople } from '../../../src/service/store/load.ts';
import { cleanUp } from '../../support/clean-up.ts';
import { KEY, makeStore, serveStore } from '../harness.ts';
import { jobsOf, ndjson } from './jobs.ts';

it('who reads results slowly keeps nobody from being answered, and there are so many of them and no more', async () => {
  const big = { id: 'pe_big', name: 'Big Record', summary: 'x'.repeat(10_000), headline: 'y'.repeat(10_000) };
  // More than the buffers of a connection hold.
  const store = await makeStore((open) => void loadPeople(open, [big], 'test'));
  const service = await serveStore({ store, limits: { inFlight: 2, transfersPerKey: 3 } });
  const jobs = jobsOf(service);
  const { id } = await jobs.run({ operation: 'enrich' }, ndjson(...Array.from({ length: 1_000 }, () => ({ id: 'pe_big' }))));
  const read = (): Socket => {
    const socket = connect(service.port, '127.0.0.1');
    cleanUp(() => void socket.destroy());
    socket.write(`GET /v1/batches/${id}/results HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${KEY}\r\n\r\n`);
    return socket;
  };
  const readers: Socket[] = [];
  for (let n = 0; n < 3; n++) {
    const socket = read();
    await once(socket, 'data');
    socket.pause();
    readers.push(socket);
  }
  expect((await service.post('/v1/enrich', { id: 'pe_1' })).status).toBe(200);
  expect(await text(read())).toMatch(/^HTTP\/1\.1 503 .*retry-after: 10.*"code":"overloaded"/s);
  readers[0]?.destroy();
  await expect.poll(async () => (await jobs.send('GET', `/${id}/results?set=failed`)).status).toBe(200);
});
