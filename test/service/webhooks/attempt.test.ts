import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { AttemptSender, type Attempt } from '../../../src/service/webhooks/attempt.ts';
import { cleanUp } from '../../support/clean-up.ts';

const never = new AbortController().signal;

/**
 * Makes one attempt to deliver `body` to a receiver that handles the connection by `react`. Returns the result, and the number of bytes
 * that the receiver has read when the connection is closed.
 */
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
  const sender = new AttemptSender({ isDevelopment: true, resolver: { addresses: async () => ({ kind: 'no_name', ttlS: null }) } });
  const result = await sender.send(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, {}, body, never);
  const socket = await connected.promise;
  socket.resume();
  await closed.promise;
  sender.close();
  return [result, socket.bytesRead];
}

/** Writes `text`, then repeats `more` for as long as the connection is open. */
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

describe('a hostile answer', () => {
  it.each<[string, (socket: Socket) => void, Attempt]>([
    ['with endless interim answers', endless('', 'HTTP/1.1 102 Processing\r\n\r\n'), FAILED],
    ['with endless headers', endless('HTTP/1.1 200 OK\r\n', 'x: y\r\n'), FAILED],
    ['with an endless status line', endless('HTTP/1.1 200 ', 'OK'), FAILED],
    ['with an endless body', endless('HTTP/1.1 200 OK\r\n\r\n', 'x'), DONE],
    ['with endless chunks', endless('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n', '1\r\nx\r\n'), DONE],
    ['with an endless chunk extension', endless('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1', ';x=y'), DONE],
    ['with endless trailers', endless('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n', 'x: y\r\n'), DONE],
    [
      'that switches protocols',
      (socket) => void socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n'),
      FAILED,
    ],
    ['that is not HTTP', (socket) => void socket.write('SSH-2.0-OpenSSH_9.9\r\n'), FAILED],
  ])('%s ends the attempt and the connection', async (_name, react, wanted) => {
    expect((await attempt(react))[0]).toEqual(wanted);
  });

  it('before the request body was read closes the connection, so that the body does not stay in memory', async () => {
    const body = 'x'.repeat(64 * 1024 * 1024);
    const [result, read] = await attempt((socket) => void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'), body);
    expect(result).toEqual(DONE);
    expect(read).toBeLessThan(body.length);
  });
});
