import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { KEY, serveStore, type Served } from '../harness.ts';

function dial(service: Served): Socket {
  const socket = connect(service.port, '127.0.0.1');
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** Sends the pieces, and returns all that arrives until the connection closes. */
async function say(service: Served, ...pieces: string[]): Promise<string> {
  const socket = dial(service);
  for (const piece of pieces) socket.write(piece, 'latin1');
  return text(socket).catch(() => '');
}

const HEAD = `POST /v1/enrich HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nContent-Type: application/json\r\n`;

it('a slow client is disconnected: in the headers, in the body, before the first byte, and when idle after an answer', async () => {
  const service = await serveStore({ limits: { headersTimeoutMs: 1_000, requestTimeoutMs: 2_000, keepAliveMs: 500 } });
  const [headers, body, nothing, idle] = await Promise.all([
    say(service, 'GET /v1/signals HTTP/1.1\r\nHost: x\r\nX-Slow: '),
    say(service, `${HEAD}Content-Length: 100\r\n\r\n{"email"`),
    say(service),
    say(service, 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'),
  ]);
  for (const refused of [headers, body])
    expect(refused).toMatch(/^HTTP\/1\.1 408 .*x-request-id: req_.*connection: close.*"code":"request_timeout"/s);
  expect(nothing).toMatch(/^HTTP\/1\.1 408 /);
  expect(idle).toMatch(/^HTTP\/1\.1 200 /);
  await expect.poll(() => service.look().connections.open).toBe(0);
});

it('a request with more than 100 headers gets 431, and one with 100 is answered', async () => {
  const service = await serveStore();
  const many = (count: number): string =>
    `GET /v1/signals?limit=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n` +
    `Connection: close\r\n${Array.from({ length: count - 3 }, (_, n) => `X-${n}: 1\r\n`).join('')}\r\n`;
  expect(await say(service, many(100))).toMatch(/^HTTP\/1\.1 200 /);
  for (const count of [101, 102, 600])
    expect(await say(service, many(count))).toMatch(
      /^HTTP\/1\.1 431 .*x-credits-charged: 0.*"detail":"[^"]*\b100\b[^"]*".*"code":"headers_too_large"/s,
    );
});

it('a connection beyond the limit is closed unread, and the next one is accepted once another has closed', async () => {
  const service = await serveStore({ limits: { connections: 3 } });
  const held = [];
  for (let n = 0; n < 3; n++) {
    const socket = dial(service);
    await once(socket, 'connect');
    held.push(socket);
  }
  // The server knows of a connection when it has answered on it.
  for (const socket of held) {
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(socket, 'data');
  }
  expect(await say(service, 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')).toBe('');
  expect(service.look().connections).toMatchObject({ open: 3, refused: 1 });
  const [first] = held as [Socket];
  const gone = expect.poll(() => service.look().connections.open);
  first.destroy();
  await gone.toBe(2);
  expect(await say(service, 'GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /);
});

it('a client that reads nothing of a stream is disconnected', async () => {
  const service = await serveStore({ limits: { stalledMs: 200 } });
  const socket = dial(service);
  socket.write(`GET /v1/signals HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nAccept: text/event-stream\r\n\r\n`);
  await once(socket, 'data');
  socket.pause();
  await expect.poll(() => service.look()).toMatchObject({ streams: 0, connections: { open: 0 } });
});
