import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { sendMessage } from '../../src/client/send-message.ts';
import { cleanUp } from '../support/clean-up.ts';

/** A receiver whose answers follow the script, one a request; the last one stays. Null: the connection is cut. */
async function receiver(
  script: readonly (number | null)[],
  headers: Record<string, string> = {},
): Promise<{ url: string; seen: { id: string; body: string }[] }> {
  const seen: { id: string; body: string }[] = [];
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    void (async () => {
      let body = '';
      for await (const piece of request) body += String(piece);
      const status = script[Math.min(seen.length, script.length - 1)] ?? null;
      seen.push({ id: String(request.headers['webhook-id']), body });
      if (status === null) request.socket.destroy();
      else response.writeHead(status, headers).end('taken');
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanUp(async () => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?token=secret`, seen };
}

const options = { headers: () => ({ 'webhook-id': 'msg_1' }), withinMs: 60_000, env: {}, random: () => 0 };

it('a message is sent again after 500, 429 and a cut connection, under the same id', async () => {
  const { url, seen } = await receiver([500, 429, null, 204]);
  expect(await sendMessage(url, '{"a":1}', options)).toBeNull();
  expect(seen).toEqual(Array.from({ length: 4 }, () => ({ id: 'msg_1', body: '{"a":1}' })));
});

it('a refused message is not sent again', async () => {
  const { url, seen } = await receiver([404]);
  expect(await sendMessage(url, '{}', options)).toBe('the answer was 404');
  expect(seen).toHaveLength(1);
});

it('a message that is never taken ends after five attempts, with the last reason', async () => {
  const { url, seen } = await receiver([503]);
  expect(await sendMessage(url, '{}', options)).toBe('the answer was 503');
  expect(seen).toHaveLength(5);
});

it('a message is given up at once when the receiver asks to wait for longer than there is time', async () => {
  for (const asked of ['90', '9999999999']) {
    const { url, seen } = await receiver([503], { 'retry-after': asked });
    expect(await sendMessage(url, '{}', options)).toBe('the answer was 503');
    expect(seen).toHaveLength(1);
  }
});

it('a message to an address where nobody listens gives the reason, and not the URL', async () => {
  const { url } = await receiver([200]);
  const gone = url.replace(/:\d+/, ':1');
  expect(await sendMessage(gone, '{}', options)).toMatch(/^nothing listens at 127.0.0.1:1 .ECONNREFUSED.$/);
});

it('a receiver that does not answer is given up when the time is over', async () => {
  const server = createServer(() => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanUp(async () => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  expect(await sendMessage(url, '{}', { ...options, withinMs: 50 })).toBe('no answer in time');
  const stop = AbortSignal.timeout(50);
  expect(await sendMessage(url, '{}', { ...options, withinMs: 600_000, stop })).toBe('no answer in time');
});
