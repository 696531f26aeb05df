/** The fetch of `@millrace/client` and the proxies of the environment. */
import { once } from 'node:events';
import http, { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { parseBaseUrl } from '../../../src/client/base-url.ts';
import { environmentFetch } from '../../../src/client/library/environment-fetch.ts';
import { cleanUp } from '../../support/clean-up.ts';

const VARIABLES = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY', 'NODE_USE_ENV_PROXY'];
const GLOBAL = Symbol.for('undici.globalDispatcher.1');

beforeEach(() => {
  for (const name of VARIABLES.flatMap((one) => [one, one.toLowerCase()])) vi.stubEnv(name, undefined);
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

/** A proxy that refuses every tunnel, and notes where each should have led. */
async function startProxy(): Promise<{ readonly url: string; readonly tunnels: string[]; readonly open: () => Promise<number> }> {
  const tunnels: string[] = [];
  const server = createServer();
  server.on('connect', ({ url = '' }, socket) => {
    tunnels.push(url);
    socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanUp(() => void server.close());
  const open = (): Promise<number> => new Promise((resolve) => server.getConnections((_, count) => resolve(count)));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, tunnels, open };
}

async function send(base: string): Promise<void> {
  const sender = environmentFetch(parseBaseUrl(base));
  await sender.fetch(`${base}/v1/health`, {}).catch(() => undefined);
  await sender.release?.();
}

it.each([
  ['ALL_PROXY', 'https://api.example', 'api.example:443'],
  ['all_proxy', 'http://api.example', 'api.example:80'],
  ['HTTPS_PROXY', 'https://api.example', 'api.example:443'],
  ['http_proxy', 'http://api.example:81', 'api.example:81'],
])('the proxy of %s is used for %s, without a switch of Node', async (name, base, tunnel) => {
  const proxy = await startProxy();
  vi.stubEnv(name, proxy.url);
  await send(base);
  expect(new Set(proxy.tunnels)).toEqual(new Set([tunnel]));
});

it('an address of NO_PROXY is called directly', async () => {
  const proxy = await startProxy();
  vi.stubEnv('ALL_PROXY', proxy.url);
  vi.stubEnv('NO_PROXY', 'api.invalid');
  await send('https://api.invalid');
  expect(proxy.tunnels).toEqual([]);
});

it('the dispatcher and the agents that the process uses for all else stay as they are', async () => {
  const globals = globalThis as { readonly [GLOBAL]?: unknown };
  const before = [globals[GLOBAL], http.globalAgent];
  vi.stubEnv('ALL_PROXY', 'http://127.0.0.1:9');
  await environmentFetch(parseBaseUrl('https://api.example')).release?.();
  expect([globals[GLOBAL], http.globalAgent]).toEqual(before);
  expect(globals[GLOBAL]).toBe(before[0]);
});

it('a proxy that is no address is an error of configuration, without the value', () => {
  vi.stubEnv('ALL_PROXY', 'no address with p4ssword');
  const open = (): unknown => environmentFetch(parseBaseUrl('https://api.example'));
  expect(open).toThrow(expect.objectContaining({ name: 'ConfigError', code: 'bad_proxy' }));
  expect(open).not.toThrow(/p4ssword/);
});

it('where Node cannot be told of a proxy, a failed call says so, unless Node uses it by its own switch', () => {
  vi.spyOn(process, 'getBuiltinModule').mockReturnValue({});
  const hint = (): string | undefined => environmentFetch(parseBaseUrl('https://api.example')).networkHint;
  expect(hint()).toBeUndefined();
  vi.stubEnv('ALL_PROXY', 'http://127.0.0.1:9');
  vi.stubEnv('NODE_USE_ENV_PROXY', '1');
  expect(hint()).toMatch(/Node 24\.14/);
  vi.stubEnv('HTTPS_PROXY', 'http://127.0.0.1:9');
  expect(hint()).toBeUndefined();
});
