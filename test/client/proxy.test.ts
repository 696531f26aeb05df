import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { proxyFor } from '../../src/client/proxy-for.ts';
import { cleanUp } from '../support/clean-up.ts';
import { answer, EMAIL_BODY, makeClient, PERSON_TEXT, serve, urlOf } from './servers.ts';

const VARIABLES = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'];

beforeEach(() => {
  for (const name of VARIABLES) vi.stubEnv(name, undefined);
});
afterEach(() => vi.unstubAllEnvs());

/** A proxy that forwards every plain request to `target`, whatever host it names, and refuses every tunnel. */
async function startProxy(target: string): Promise<{ url: string; seen: IncomingMessage[]; tunnels: IncomingMessage[] }> {
  const seen: IncomingMessage[] = [];
  const tunnels: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    seen.push(request);
    const { port, hostname } = new URL(target);
    const forwarded = httpRequest(
      { hostname, port, method: request.method, path: new URL(request.url ?? '').pathname, headers: request.headers },
      (upstream) => {
        response.writeHead(upstream.statusCode ?? 502, upstream.headers);
        upstream.pipe(response);
      },
    );
    forwarded.on('error', () => response.destroy());
    request.pipe(forwarded);
  });
  server.on('connect', (request: IncomingMessage, socket) => {
    tunnels.push(request);
    socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanUp(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: urlOf(server), seen, tunnels };
}

const service = (): Promise<string> => serve((_request, response) => answer(response, { status: 200, body: PERSON_TEXT }));

describe('a proxy', () => {
  it.each(['HTTP_PROXY', 'http_proxy'])('from %s carries plain HTTP, with its own credentials', async (name) => {
    const proxy = await startProxy(await service());
    vi.stubEnv(name, proxy.url.replace('//', '//user:secret@'));
    const client = makeClient('http://service.test/prefix');
    expect(await client.callEnrich(EMAIL_BODY, { idempotencyKey: 'k' })).toMatchObject({ kind: 'ok', value: { text: PERSON_TEXT } });
    expect(proxy.seen[0]?.url).toBe('http://service.test/prefix/v1/enrich');
    expect(proxy.seen[0]?.headers).toMatchObject({
      host: 'service.test',
      authorization: 'Bearer test-key-0123456789',
      'idempotency-key': 'k',
      'proxy-authorization': `Basic ${Buffer.from('user:secret').toString('base64')}`,
    });
  });

  it('from HTTPS_PROXY opens a tunnel, and its refusal gives a network error', async () => {
    const proxy = await startProxy(await service());
    vi.stubEnv('HTTPS_PROXY', proxy.url);
    const result = await makeClient('https://service.test').callEnrich(EMAIL_BODY);
    expect(result).toMatchObject({ kind: 'retryable', code: 'network' });
    expect(proxy.tunnels[0]?.url).toBe('service.test:443');
    expect(proxy.tunnels[0]?.headers).not.toHaveProperty('authorization');
  });

  it('gives a network error that names the missing credentials', async () => {
    const proxy = await serve((_request, response) => answer(response, { status: 407, body: 'no' }));
    vi.stubEnv('HTTP_PROXY', proxy);
    expect(await makeClient('http://service.test').callEnrich(EMAIL_BODY)).toMatchObject({
      kind: 'retryable',
      code: 'network',
      detail: expect.stringMatching(/407/),
    });
  });

  it.each(['service.test', '*', '.test', 'other.test,service.test:80'])('does not carry the hosts of NO_PROXY=%s', async (noProxy) => {
    const proxy = await startProxy(await service());
    vi.stubEnv('HTTP_PROXY', proxy.url);
    vi.stubEnv('NO_PROXY', noProxy);
    // Reserved: it has no address, so going there directly fails.
    expect(await makeClient('http://service.test').callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'retryable', code: 'network' });
    expect(proxy.seen).toHaveLength(0);
  });

  it('does not disable the timeout of a call, and its connections close with the client', async () => {
    const proxy = await startProxy(await serve(() => {}));
    vi.stubEnv('HTTP_PROXY', proxy.url);
    const client = makeClient('http://service.test', { timeoutMs: 60 });
    expect(await client.callEnrich(EMAIL_BODY)).toMatchObject({ kind: 'retryable', code: 'timeout' });
    await client.close();
  });

  it('gives a ConfigError without the password when its URL is invalid', () => {
    vi.stubEnv('HTTP_PROXY', 'http://user:secret@[');
    expect(() => makeClient('http://service.test')).toThrow(/^HTTP_PROXY cannot be used/);
    expect(() => makeClient('http://service.test')).not.toThrow(/secret/);
  });

  it('never carries loopback addresses, because the embedded service must be reachable', async () => {
    const proxy = await startProxy(await service());
    vi.stubEnv('HTTP_PROXY', proxy.url);
    expect((await makeClient(await service()).callEnrich(EMAIL_BODY)).kind).toBe('ok');
    expect(proxy.seen).toHaveLength(0);
  });
});

describe('the choice of the proxy variable', () => {
  it.each([
    ['http:', 'a.example', { HTTP_PROXY: 'p' }, 'p'],
    ['http:', 'a.example', { HTTP_PROXY: 'p', http_proxy: 'q' }, 'q'],
    ['http:', 'a.example', { HTTPS_PROXY: 'p' }, null],
    ['https:', 'a.example', { HTTPS_PROXY: 'p' }, 'p'],
    ['https:', 'a.example', { HTTP_PROXY: 'p' }, null],
    ['https:', 'a.example', { HTTPS_PROXY: '' }, null],
    ['http:', 'localhost', { HTTP_PROXY: 'p' }, null],
    ['http:', 'x.localhost', { HTTP_PROXY: 'p' }, null],
    ['http:', '127.9.9.9', { HTTP_PROXY: 'p' }, null],
    ['http:', '::1', { HTTP_PROXY: 'p' }, null],
    ['http:', '127.example.com', { HTTP_PROXY: 'p' }, 'p'],
  ] as const)('%s//%s with %j', (protocol, hostname, env, expected) => {
    expect(proxyFor({ protocol, hostname }, env)).toBe(expected);
  });
});
