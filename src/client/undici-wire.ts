/** undici as a wire: the connections of Node, with the proxies of the environment. */
import { connect } from 'node:tls';
import { isIP } from 'node:net';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, inflateRaw, zstdDecompress } from 'node:zlib';
import type { Dispatcher } from 'undici';
import type { BaseUrl } from './base-url.ts';
import { explain } from './connection-fault.ts';
import { openDispatcher, type TlsFiles } from './dispatcher.ts';
import type { ExchangeFailure } from './exchange.ts';
import { proxyFor } from './proxy-for.ts';
import type { TransportRequest, Wire, WireHandler } from './transport.ts';

/** A port that does not finish a handshake in this time is taken for one without TLS. */
const HANDSHAKE_MS = 3_000;
const CONNECT_TIMEOUT_MS = 10_000;
const HTTP_PORT = 80;

/** The other side closed the connection before it answered. */
const CLOSED: ReadonlySet<string> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

interface WireOptions {
  /** Sockets at most; further calls wait for one. Null: as many as calls need. */
  readonly connections: number | null;
  /** TCP and TLS together. Default 10,000. */
  readonly connectTimeoutMs?: number;
  /** Certificates of this address; null or absent: those of Node. */
  readonly tls?: TlsFiles | null;
  /** The variables of proxies. Default: those of the process. */
  readonly env?: NodeJS.ProcessEnv;
}

export class UndiciWire implements Wire {
  readonly decompress = decompress;
  readonly #base: BaseUrl;
  readonly #env: NodeJS.ProcessEnv;
  readonly #dispatcher: Dispatcher;
  /** Whether the port speaks TLS, once that was asked. */
  #speaksTls: Promise<boolean> | null = null;
  readonly #endProbe = new AbortController();
  #destroyed: Promise<void> | null = null;

  /** @throws ConfigError `bad_proxy` when a proxy variable that applies is no URL. */
  constructor(base: BaseUrl, { connections, connectTimeoutMs = CONNECT_TIMEOUT_MS, tls = null, env = process.env }: WireOptions) {
    this.#base = base;
    this.#env = env;
    this.#dispatcher = openDispatcher(base, { connections, connectTimeoutMs, tls }, env);
  }

  dispatch({ method, path, headers, body }: TransportRequest, handler: WireHandler): void {
    // undici's pools report everything to the handler; its proxy agents throw some of it.
    this.#dispatcher.dispatch({ origin: this.#base.origin, path, method, headers, body }, handler);
  }

  async explain(error: Error, hasAnswered: boolean): Promise<ExchangeFailure> {
    const { origin, hostname, protocol } = this.#base;
    const isClosed = CLOSED.has((error as NodeJS.ErrnoException).code ?? '');
    if (isClosed && !hasAnswered && protocol === 'http:' && proxyFor(this.#base, this.#env) === null) {
      this.#speaksTls ??= speaksTls(hostname, Number(new URL(origin).port || HTTP_PORT), this.#endProbe.signal);
      if (await this.#speaksTls) return { code: 'network', fault: 'needs_tls', detail: `${origin} speaks TLS` };
    }
    return { code: 'network', ...explain(error, this.#base) };
  }

  destroy(): Promise<void> {
    this.#endProbe.abort();
    this.#destroyed ??= this.#dispatcher.destroy();
    return this.#destroyed;
  }
}

/**
 * Whether a port speaks TLS. Most TLS servers close a connection that begins with plain HTTP silently, so this opens a second connection.
 * It sends only the handshake, so the certificate does not matter. Resolves to false after an abort.
 */
function speaksTls(hostname: string, port: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port, rejectUnauthorized: false, ...(isIP(hostname) === 0 ? { servername: hostname } : {}) });
    const end = (speaks: boolean): void => {
      signal.removeEventListener('abort', onAbort);
      socket.destroy();
      resolve(speaks);
    };
    const onAbort = (): void => end(false);
    signal.addEventListener('abort', onAbort, { once: true });
    socket.setTimeout(HANDSHAKE_MS, () => end(false));
    socket.once('secureConnect', () => end(true));
    // An alert is TLS, too.
    socket.once('error', ({ code = '' }: NodeJS.ErrnoException) => end(code.includes('_ALERT_')));
    socket.once('close', () => end(false));
  });
}

/** The content codings that are understood, although a request asks for none. */
const decoders = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  br: promisify(brotliDecompress),
  zstd: promisify(zstdDecompress),
} as const;

const inflateZlib = promisify(inflate);
const inflateBare = promisify(inflateRaw);

async function decompress(body: Uint8Array, coding: string, maxBytes: number): Promise<Uint8Array | null> {
  const limit = { maxOutputLength: maxBytes };
  try {
    // Some services send `deflate` without the zlib wrapper of RFC 9110 (8.4.1.2). The first byte shows which it is.
    if (coding === 'deflate') return await ((body[0] ?? 0) % 16 === 8 ? inflateZlib(body, limit) : inflateBare(body, limit));
    const decode = Object.hasOwn(decoders, coding) ? decoders[coding as keyof typeof decoders] : null;
    return decode === null ? null : await decode(body, limit);
  } catch {
    return null;
  }
}
