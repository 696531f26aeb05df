/** The HTTP server of the monitor: a few read-only pages, with limits for untrusted clients. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ConfigError } from '../util/errors.ts';
import type { MonitorAddress } from './listen-address.ts';

const LARGEST_HEADER_BYTES = 8 * 1_024;
const MOST_CONNECTIONS = 64;
/** For a request to arrive, and for an answer to be taken. */
const PATIENCE_MS = 10_000;
const KEEP_ALIVE_MS = 5_000;
/** Nothing at all, unless a page says otherwise. */
const POLICY = "default-src 'none'";

export interface Page {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  /** Its Content-Security-Policy; default: nothing is allowed. */
  readonly policy?: string;
}

export interface ServedPages {
  /** Where it listens, as a person on this machine would write it. */
  readonly url: string;
  /** Closes the port and every connection. */
  close(): Promise<void>;
}

export function plain(status: number, word: string): Page {
  return { status, type: 'text/plain; charset=utf-8', body: `${word}\n` };
}

/** @param pages by path @throws ConfigError when the address cannot be listened on */
export async function servePages(pages: Readonly<Record<string, () => Page>>, address: MonitorAddress): Promise<ServedPages> {
  const server = createServer(
    {
      maxHeaderSize: LARGEST_HEADER_BYTES,
      headersTimeout: PATIENCE_MS,
      requestTimeout: PATIENCE_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: 1_000,
    },
    (request, response) => answer(pages, request, response),
  );
  server.maxConnections = MOST_CONNECTIONS;
  server.setTimeout(PATIENCE_MS);
  await listen(server, address);
  // It shows what runs and is none of it: it never keeps the process alive.
  server.unref();
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${hostOf(address)}:${port}/`,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function answer(pages: Readonly<Record<string, () => Page>>, request: IncomingMessage, response: ServerResponse): void {
  const [path = '/'] = (request.url ?? '/').split('?', 1);
  const reads = request.method === 'GET' || request.method === 'HEAD';
  const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
  const {
    status,
    type,
    body,
    policy = POLICY,
  } = !reads ? plain(405, 'only GET and HEAD') : page === undefined ? plain(404, `there are ${Object.keys(pages).join(', ')}`) : page();
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'content-security-policy': policy,
    ...(status === 405 ? { allow: 'GET, HEAD' } : {}),
    // A body that nobody reads would stand in the way of the next request.
    ...(reads ? {} : { connection: 'close' }),
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}

async function listen(server: Server, { host, port }: MonitorAddress): Promise<void> {
  try {
    server.listen(host === null ? { port } : { host, port });
    await once(server, 'listening');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'EADDRINUSE' ? 'the port is taken' : code === 'EACCES' ? 'not permitted' : (error as Error).message;
    throw new ConfigError('monitor_cannot_listen', `the monitor cannot listen on ${host ?? 'any address'}, port ${port}: ${why}`, {
      hint: 'Name another --monitor PORT or HOST:PORT (0: any free port), or leave it out.',
      cause: error,
    });
  }
}

function hostOf({ host }: MonitorAddress): string {
  if (host === null || host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}
