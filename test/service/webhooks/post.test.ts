/** Receivers that answer with what HTTP allows and nobody wants, byte by byte. */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { Poster, type Attempt } from '../../../src/service/webhooks/post.ts';
import { cleanUp } from '../../support/clean-up.ts';

const never = new AbortController().signal;

/** One attempt to deliver `body` to a receiver that does `react` with the connection. Returns what came of it, and how much of the request the receiver could read until the connection was closed. */
async function attempt(react: (socket: Socket) => void, body = '{}'): Promise<readonly [Attempt, number]> {
  const connected = Promise.withResolvers<Socket>();
  const closed = Promise.withResolvers<void>();
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('close', () => closed.resolve());
    socket.once('readable', () => react(socket));
    connected.resolve(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanUp(() => void server.close());
  const poster = new Poster({ isDevelopment: true, resolver: { addresses: async () => ({ kind: 'no_name', ttlS: null }) } });
  const came = await poster.post(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, {}, body, never);
  const socket = await connected.promise;
  socket.resume();
  await closed.promise;
  poster.close();
  return [came, socket.bytesRead];
}

/** Writes `text`, and then `more` again and again as long as anybody reads it. */
function endless(text: string, more: string): (socket: Socket) => void {
  return (socket) => {
    socket.resume();
    socket.write(text);
    const next = (): void => void (socket.destroyed || socket.write(more.repeat(1_000), next));
    next();
  };
}

const DONE: Attempt = { status: 200, error: null };
const FAILED: Attempt = { status: null, error: 'connection_failed' };

describe('an answer', () => {
  it.each<[string, (socket: Socket) => void, Attempt]>([
    ['of preliminary answers without end', endless('', 'HTTP/1.1 102 Processing\r\n\r\n'), FAILED],
    ['of headers without end', endless('HTTP/1.1 200 OK\r\n', 'x: y\r\n'), FAILED],
    ['of a status line without end', endless('HTTP/1.1 200 ', 'OK'), FAILED],
    ['of a body without end', endless('HTTP/1.1 200 OK\r\n\r\n', 'x'), DONE],
    ['of pieces without end', endless('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n', '1\r\nx\r\n'), DONE],
    ['of extensions of a piece without end', endless('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1', ';x=y'), DONE],
    ['of trailers without end', endless('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n', 'x: y\r\n'), DONE],
    ['that says to go on with another protocol', (socket) => void socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n'), FAILED],
    ['that is no HTTP', (socket) => void socket.write('SSH-2.0-OpenSSH_9.9\r\n'), FAILED],
  ])('%s is the end of the attempt and of the connection', async (_what, react, wanted) => {
    expect((await attempt(react))[0]).toEqual(wanted);
  });

  it('that comes before the body was read lets go of the connection, rather than hold all of it until somebody reads', async () => {
    const body = 'x'.repeat(64 * 1024 * 1024);
    const [came, read] = await attempt((socket) => void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'), body);
    expect(came).toEqual(DONE);
    expect(read).toBeLessThan(body.length);
  });
});
