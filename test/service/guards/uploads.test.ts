import { EventEmitter, once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import * as fc from '../../support/fast-check.ts';
import { expect, it, vi } from 'vitest';
import { LIMITS } from '../../../src/service/guards/limits.ts';
import { Uploads } from '../../../src/service/guards/uploads.ts';
import { cleanUp } from '../../support/clean-up.ts';
import { jobsOf } from '../batches/jobs.ts';
import { KEY, serveStore, type Served } from '../harness.ts';

const PART = '{"id":"pe_1"}\n{"id":"pe_3"}\n';

/** A connection with the beginning of a part that has `length` bytes, or as many as are sent. */
function beginPart(service: Served, id: string, sent: string | Buffer, length = sent.length, more = ''): Socket {
  const socket = connect(service.port, '127.0.0.1');
  socket.on('error', () => undefined);
  cleanUp(() => void socket.destroy());
  socket.write(
    `PUT /v1/batches/${id}/parts/1 HTTP/1.1\r\nHost: x\r\n` +
      `Authorization: Bearer ${KEY}\r\nContent-Type: application/x-ndjson\r\n` +
      `Content-Length: ${length}\r\n${more}\r\n`,
  );
  socket.write(sent);
  return socket;
}

/** Resolves after the time limit of a whole request. */
async function pastRequestTime(service: Served): Promise<void> {
  const socket = connect(service.port, '127.0.0.1');
  socket.write(
    `POST /v1/enrich HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`,
  );
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 408 /);
}

/** Uploads on a test clock. Each has a connection that counts the bytes received. */
function make() {
  const state = { nowMs: 0, refused: [] as unknown[] };
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  cleanUp(() => void vi.useRealTimers());
  const uploads = new Uploads(LIMITS, () => state.nowMs);
  const begin = (keyId: string, message: IncomingMessage): void => uploads.begin(keyId, message, () => state.refused.push(message.socket));
  const request = (): { message: IncomingMessage; line: { bytesRead: number; destroyed: boolean } & EventEmitter } => {
    const line = Object.assign(new EventEmitter(), { bytesRead: 500, destroyed: false, destroy: () => void (line.destroyed = true) });
    return { line, message: Object.assign(new EventEmitter(), { socket: line }) as unknown as IncomingMessage };
  };
  const pass = (ms: number): void => {
    state.nowMs += ms;
    vi.advanceTimersByTime(ms);
  };
  return { uploads, begin, state, request, pass };
}

it('a part at the minimum rate is never refused, and a slower one is refused after the time limit of a request', () => {
  const { begin, state, request, pass } = make();
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 3 * LIMITS.transferBytesPerS }), (bytesPerS) => {
      const { message, line } = request();
      state.refused = [];
      begin('k', message);
      let seconds = 0;
      for (; seconds < 3_000 && state.refused.length === 0; seconds++) {
        line.bytesRead += bytesPerS;
        pass(1_000);
      }
      message.emit('end');
      const freeS = LIMITS.requestTimeoutMs / 1_000;
      // A slow part falls behind the bytes due. At one byte a second less than the rate that takes hours.
      const dueAtS = (freeS * LIMITS.transferBytesPerS) / (LIMITS.transferBytesPerS - bytesPerS);
      if (bytesPerS >= LIMITS.transferBytesPerS || dueAtS > 3_000) expect(state.refused).toEqual([]);
      else expect([state.refused, seconds >= freeS, seconds <= dueAtS + 2]).toEqual([[line], true, true]);
    }),
    { numRuns: 50 },
  );
});

it('a stalled part is refused, however much has arrived; after an answer, the rest is awaited as long as a request', () => {
  const { uploads, begin, state, request, pass } = make();
  const [still, answered] = [request(), request()];
  begin('k', still.message);
  begin('k', answered.message);
  for (const { line } of [still, answered]) line.bytesRead += 60 * 1024 * 1024;
  pass(1_000);
  uploads.answered(answered.message);
  pass(LIMITS.requestTimeoutMs);
  expect(answered.line.destroyed).toBe(false);
  pass(1_000);
  expect([answered.line.destroyed, state.refused]).toEqual([true, []]);
  // Its connection may have closed before it began, and then reports no close.
  expect(uploads.has(answered.line as unknown as Socket)).toBe(false);
  pass(LIMITS.stalledMs - LIMITS.requestTimeoutMs);
  expect(state.refused).toEqual([still.line]);
});

it('parts in transfer are limited per key and in total; a part that ends, or whose connection closes, makes room', () => {
  const { uploads, begin, request } = make();
  const begun = Array.from({ length: LIMITS.transfers }, (_, n) => {
    const { message, line } = request();
    begin(`k${Math.floor(n / LIMITS.transfersPerKey)}`, message);
    return { message, line };
  });
  const refused = expect.objectContaining({ code: 'overloaded', headers: { 'retry-after': '10' } });
  expect(() => begin('another', request().message)).toThrow(refused as Error);
  begun[0]?.message.emit('end');
  expect(() => begin('k1', request().message)).toThrow(refused as Error);
  begin('another', request().message);
  begun[1]?.line.emit('close');
  begin('k0', request().message);
  expect(begun.map(({ line }) => uploads.has(line as unknown as Socket)).filter(Boolean)).toHaveLength(LIMITS.transfers - 2);
});

it('a connection keeps no listener of the parts that it carried', () => {
  const { begin, request } = make();
  const { message, line } = request();
  for (let n = 0; n < 100; n++) {
    begin('k', message);
    message.emit('end');
  }
  expect([line.listenerCount('close'), vi.getTimerCount()]).toEqual([0, 0]);
});

it('a part may take longer than a whole request', async () => {
  const service = await serveStore({ limits: { headersTimeoutMs: 1_000, requestTimeoutMs: 2_000, transferBytesPerS: 0 } });
  const jobs = jobsOf(service);
  const { id } = await jobs.create({ operation: 'enrich' });
  const socket = beginPart(service, id, PART.slice(0, 5), PART.length);
  await pastRequestTime(service);
  socket.write(PART.slice(5));
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 200 .*"bytes":28/s);
  // The next request on the connection has the usual time limit.
  socket.write(
    `POST /v1/enrich HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`,
  );
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 408 /);
  await jobs.complete(id);
  expect(await jobs.until(id, 'completed')).toMatchObject({ counts: { succeeded: 2 } });
});

it('a stalled part is refused, and nothing of it is stored', async () => {
  const service = await serveStore({ limits: { headersTimeoutMs: 1_000, stalledMs: 200 }, rpm: 600 });
  const jobs = jobsOf(service);
  const { id } = await jobs.create({ operation: 'enrich' });
  const refusal = await text(beginPart(service, id, PART, 1_000));
  expect(refusal).toMatch(/^HTTP\/1\.1 408 .*connection: close.*"code":"request_timeout"/s);
  // Like any other answer, it states the quota, the request id and the path.
  expect(refusal).toMatch(/^x-ratelimit-limit: 600\r$/m);
  const { instance, request_id: requestId } = JSON.parse(refusal.slice(refusal.indexOf('\r\n\r\n'))) as Record<string, string>;
  expect([instance, refusal]).toEqual([`/v1/batches/${id}/parts/1`, expect.stringContaining(`x-request-id: ${requestId}\r\n`)]);
  expect(await jobs.get(id)).toMatchObject({ state: 'open', parts: { count: 0 } });
});

it('the rest of a refused part is awaited for a limited time only', async () => {
  const service = await serveStore({
    limits: { headersTimeoutMs: 1_000, requestTimeoutMs: 2_000, transferBytesPerS: 0, transfersPerKey: 1 },
  });
  const { id } = await jobsOf(service).create({ operation: 'enrich' });
  const first = beginPart(service, id, Buffer.concat([gzipSync('{}'), Buffer.from('no gzip')]), 1_000, 'Content-Encoding: gzip\r\n');
  const [answer] = (await once(first, 'data')) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 422 /);
  // It still holds its permit.
  const second = beginPart(service, id, PART, PART.length, 'Connection: close\r\n');
  expect(await text(second)).toMatch(/^HTTP\/1\.1 503 .*retry-after: 10/s);
  await once(first, 'close');
  expect(await text(beginPart(service, id, PART, PART.length, 'Connection: close\r\n'))).toMatch(/^HTTP\/1\.1 200 /);
});
