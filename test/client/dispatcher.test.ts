/** The timeouts of undici itself, without the client's deadline for the whole call. */
import { expect, it } from 'vitest';
import { parseBaseUrl } from '../../src/client/base-url.ts';
import { openDispatcher } from '../../src/client/dispatcher.ts';
import { Exchange } from '../../src/client/exchange.ts';
import { cleanUp } from '../support/clean-up.ts';
import { serve, serveRaw } from './servers.ts';

/** Long enough for a connection and the start of an answer on a busy machine. */
const TIMEOUT_MS = 1_000;
const BEGINNING = 'HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{';

async function failureOf(baseUrl: string, env: NodeJS.ProcessEnv = {}, timeoutMs = TIMEOUT_MS): Promise<unknown> {
  const base = parseBaseUrl(baseUrl);
  const dispatcher = openDispatcher(base, { connections: 1, timeoutMs, connectTimeoutMs: TIMEOUT_MS }, env);
  cleanUp(() => dispatcher.destroy());
  const exchange = await new Promise<Exchange>((resolve, reject) => {
    const handler = new Exchange({ finished: () => {}, mayHold: () => true }, 1000, resolve, reject);
    dispatcher.dispatch({ origin: base.origin, path: '/', method: 'POST', body: '{}' }, handler);
  });
  return exchange.failure;
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
