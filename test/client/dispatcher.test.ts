/** The time limits of connections and answers, directly and behind a proxy. */
import { expect, it } from 'vitest';
import { parseBaseUrl } from '../../src/client/base-url.ts';
import { Redactor } from '../../src/client/redactor.ts';
import { Transport } from '../../src/client/transport.ts';
import { UndiciWire } from '../../src/client/undici-wire.ts';
import { cleanUp } from '../support/clean-up.ts';
import { serve, serveRaw } from './servers.ts';

/** Long enough for a connection and the start of an answer on a busy machine. */
const TIMEOUT_MS = 1_000;
const BEGINNING = 'HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{';

async function failureOf(baseUrl: string, env: NodeJS.ProcessEnv = {}, timeoutMs = TIMEOUT_MS): Promise<unknown> {
  const wire = new UndiciWire(parseBaseUrl(baseUrl), { connections: 1, connectTimeoutMs: TIMEOUT_MS, env });
  const transport = new Transport(wire, { timeoutMs, redactor: new Redactor(null) });
  cleanUp(() => transport.destroy());
  return (await transport.send({ method: 'POST', path: '/', headers: [], body: '{}' })).failure;
}

const silent = { code: 'timeout', detail: 'no answer within the time allowed' };
const stopped = { code: 'timeout', detail: 'the answer stopped arriving' };

it('no answer gives a timeout', async () => expect(await failureOf(await serveRaw(() => {}))).toEqual(silent));

it('half an answer gives a timeout', async () =>
  expect(await failureOf(await serveRaw((socket) => socket.write(BEGINNING)))).toEqual(stopped));

it('no answer behind a proxy gives a timeout', async () => {
  const proxy = await serve(() => {});
  expect(await failureOf('http://service.test', { HTTP_PROXY: proxy })).toEqual(silent);
});

it('half an answer behind a proxy gives a timeout', async () => {
  const proxy = await serveRaw((socket) => socket.write(BEGINNING));
  expect(await failureOf('http://service.test', { HTTP_PROXY: proxy })).toEqual(stopped);
});

it('a proxy that never opens the tunnel gives a timeout', async () => {
  const proxy = await serveRaw(() => {});
  expect(await failureOf('https://service.test', { HTTPS_PROXY: proxy }, 600_000)).toMatchObject({ code: 'timeout' });
});

it('a service that accepts the connection but never speaks TLS gives a timeout', async () => {
  const url = await serveRaw(() => {});
  expect(await failureOf(url.replace('http:', 'https:'))).toEqual({ code: 'timeout', detail: 'no connection within the time allowed' });
});
