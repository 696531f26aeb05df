/** Addresses without the service, on real sockets. Each ends with the right exit code, and names the fault and its remedy. */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer as createHttp, type RequestListener } from 'node:http';
import { createSecureServer as createHttp2Tls, createServer as createHttp2 } from 'node:http2';
import { createServer as createHttps } from 'node:https';
import { createServer as createTcp, type AddressInfo, type Server } from 'node:net';
import { CERTIFICATE, EXPIRED_CERTIFICATE, EXPIRED_KEY, KEY } from '../services/certificate.ts';
import { cleanUp } from '../support/clean-up.ts';
import type { Folder } from '../support/cli.ts';

export const TLS = { key: KEY, cert: CERTIFICATE };
export const RECORDS = 3;

/** Listens until the test ends. Returns the port. */
export async function listen(server: Server, host = '127.0.0.1'): Promise<number> {
  server.listen(0, host);
  await once(server, 'listening');
  cleanUp(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** Answers any request as the service of the specification does. */
export const found: RequestListener = (request, response) => {
  request
    .resume()
    .once('end', () => response.writeHead(200, { 'content-type': 'application/json', connection: 'close' }).end('{"name":"Ana"}'));
};

const page =
  (status: number): RequestListener =>
  (request, response) => {
    request
      .resume()
      .once('end', () =>
        response.writeHead(status, { 'content-type': 'text/html', connection: 'close' }).end('<!doctype html><title>Welcome</title>'),
      );
  };

async function proxyThatSays(status: number): Promise<string> {
  const proxy = createHttp((_request, response) =>
    response.writeHead(status, { 'proxy-authenticate': 'Basic realm="x"', connection: 'close' }).end('no'),
  );
  proxy.on('connect', (_request, socket) =>
    socket.end(`HTTP/1.1 ${status} No\r\nproxy-authenticate: Basic realm="x"\r\ncontent-length: 0\r\n\r\n`),
  );
  return `http://127.0.0.1:${await listen(proxy)}`;
}

/** Closes each connection after the first bytes, as most TLS servers do with plain HTTP. */
async function closesAtOnce(): Promise<number> {
  return listen(createTcp((socket) => socket.on('error', () => undefined).on('data', () => socket.destroy())));
}

export interface Unreachable {
  readonly name: string;
  /** The base URL and the environment. */
  readonly start: (folder: Folder) => Promise<{ readonly url: string; readonly env?: Record<string, string> }>;
  readonly code: number;
  readonly says: readonly (string | RegExp)[];
  /** Short by default, so that a wrong address is known after half a second instead of ten. */
  readonly maxOutageMs?: number;
}

export async function trusted(folder: Folder): Promise<Record<string, string>> {
  await writeFile(folder.at('ca.pem'), CERTIFICATE);
  return { NODE_EXTRA_CA_CERTS: folder.at('ca.pem') };
}

export const CASES: readonly Unreachable[] = [
  {
    name: 'a certificate that nobody trusts',
    code: 78,
    start: async () => ({ url: `https://localhost:${await listen(createHttps(TLS, found))}` }),
    says: ['is not trusted', 'NODE_EXTRA_CA_CERTS'],
  },
  {
    name: 'a certificate that has expired',
    code: 78,
    start: async () => ({ url: `https://localhost:${await listen(createHttps({ key: EXPIRED_KEY, cert: EXPIRED_CERTIFICATE }, found))}` }),
    says: [/certificate of https:\/\/localhost:\d+ has expired/, 'renewed'],
  },
  {
    name: 'a certificate of another host',
    code: 78,
    start: async (folder) => ({
      url: `https://127.0.0.2:${await listen(createHttps(TLS, found), '127.0.0.2')}`,
      env: await trusted(folder),
    }),
    says: ['is for another host', 'Check the host in --base-url'],
  },
  {
    name: 'https to a plain port',
    code: 78,
    start: async () => ({ url: `https://localhost:${await listen(createHttp(found))}` }),
    says: ['does not speak TLS', 'http:// if this port has no TLS'],
  },
  {
    name: 'http to a TLS port',
    code: 78,
    start: async () => ({ url: `http://localhost:${await listen(createHttps(TLS, found))}` }),
    says: ['speaks TLS', 'Write https://'],
  },
  {
    name: 'http to a TLS port that says so',
    code: 78,
    start: async () => ({
      url:
        'http://localhost:' +
        (await listen(
          createHttp((_request, response) =>
            response
              .writeHead(400, { 'content-type': 'text/html', connection: 'close' })
              .end('<html><head><title>400 The plain HTTP request was sent to HTTPS port</title>'),
          ),
        )),
    }),
    says: ['port that speaks TLS', 'https://'],
  },
  {
    name: 'a TLS port that speaks HTTP/2 alone',
    code: 78,
    start: async (folder) => ({
      url: `https://localhost:${await listen(createHttp2Tls({ ...TLS, allowHTTP1: false }))}`,
      env: await trusted(folder),
    }),
    says: ['HTTP/2 alone', 'HTTP/1.1'],
  },
  {
    name: 'a plain port that speaks HTTP/2 alone',
    code: 78,
    start: async () => ({ url: `http://localhost:${await listen(createHttp2())}` }),
    says: ['HTTP/2 alone', 'HTTP/1.1'],
  },
  {
    name: 'a port of another protocol',
    code: 78,
    start: async () => ({
      url: `http://localhost:${await listen(createTcp((socket) => socket.on('error', () => undefined).end('SSH-2.0-OpenSSH_9.2\r\n')))}`,
    }),
    says: ['does not answer in HTTP', 'host and the port'],
  },
  // No resolver accepts a name with such a long label.
  {
    name: 'a host that does not exist',
    code: 78,
    maxOutageMs: 600_000,
    start: async () => ({ url: `http://${'a'.repeat(64)}.example` }),
    says: [/there is no host a{64}\.example/, 'spelling of the host'],
  },
  {
    name: 'a proxy that wants credentials for a tunnel',
    code: 78,
    start: async () => ({ url: 'https://service.test', env: { HTTPS_PROXY: await proxyThatSays(407) } }),
    says: ['the proxy refuses the way to https://service.test with 407', 'credentials into HTTPS_PROXY'],
  },
  {
    name: 'a proxy that wants credentials for plain HTTP',
    code: 78,
    start: async () => ({ url: 'http://service.test', env: { HTTP_PROXY: await proxyThatSays(407) } }),
    says: ['with 407', 'credentials into HTTPS_PROXY or HTTP_PROXY'],
  },
  {
    name: 'a proxy that forbids the host',
    code: 78,
    start: async () => ({ url: 'https://service.test', env: { HTTPS_PROXY: await proxyThatSays(403) } }),
    says: ['with 403', 'NO_PROXY'],
  },
  {
    name: 'a web site that takes no POST',
    code: 78,
    start: async () => ({ url: `http://localhost:${await listen(createHttp(page(405)))}` }),
    says: ['does not look like the data service: 405', 'Check --base-url'],
  },
  {
    name: 'a web site that answers everything with a page',
    code: 78,
    maxOutageMs: 1_500,
    start: async () => ({ url: `http://localhost:${await listen(createHttp(page(200)))}` }),
    says: ['nothing but HTML pages', 'Check --base-url'],
  },
  {
    name: 'a maintenance page',
    code: 69,
    maxOutageMs: 1_500,
    start: async () => ({ url: `http://localhost:${await listen(createHttp(page(503)))}` }),
    says: ['unavailable', 'http_503'],
  },
  {
    name: 'a port that nobody listens at',
    code: 69,
    maxOutageMs: 1_500,
    start: async () => ({ url: `http://localhost:${await closedPort()}` }),
    says: [/nothing listens at localhost:\d+ \(ECONNREFUSED\)/],
  },
  {
    name: 'a proxy that does not reach the service',
    code: 69,
    maxOutageMs: 1_500,
    start: async () => ({ url: 'https://service.test', env: { HTTPS_PROXY: await proxyThatSays(502) } }),
    says: ['502'],
  },
  {
    name: 'a port that closes each connection, and is no TLS port',
    code: 69,
    maxOutageMs: 1_500,
    start: async () => ({ url: `http://localhost:${await closesAtOnce()}` }),
    says: ['network'],
  },
];

/** A port of 127.0.0.1 that refuses connections. */
export async function closedPort(): Promise<number> {
  const server = createTcp();
  const port = await listen(server);
  server.close();
  return port;
}
