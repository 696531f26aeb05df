/** Sends one request and brings back what came of it. No retry, no pacing, no redirect, and no opinion on what an answer means. */
import type { Dispatcher } from 'undici';
import type { BaseUrl } from './base-url.ts';
import { explain } from './connection-fault.ts';
import { openDispatcher, type TlsFiles } from './dispatcher.ts';
import { proxyFor } from './proxy-for.ts';
import { Exchange } from './exchange.ts';
import { InFlight } from './in-flight.ts';
import { isIP } from 'node:net';
import { connect } from 'node:tls';

/** A port that does not finish a handshake in this time is taken for one without TLS. */
const HANDSHAKE_MS = 3_000;

interface TransportOptions {
  readonly base: BaseUrl;
  readonly timeoutMs: number;
  readonly connections: number;
  readonly maxResponseBytes: number;
  /** Certificates of this address; null or absent: those of Node. */
  readonly tls?: TlsFiles | null;
}

export interface TransportRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  /** With its query. */
  readonly path: string;
  /** Names and values in turn: undici reads a flat list faster than an object. */
  readonly headers: string[];
  /** Null for a request without a body. */
  readonly body: string | null;
}

const CONNECT_TIMEOUT_MS = 10_000;

/** The other side closed the connection before it answered. */
const CLOSED: ReadonlySet<string> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);
const HTTP_PORT = 80;

/** A call as a whole may take this many times `timeoutMs`: a body that dribbles must not live for ever. */
const TOTAL_FACTOR = 2;

export class Transport {
  readonly #dispatcher: Dispatcher;
  readonly #inFlight: InFlight;
  readonly #base: BaseUrl;
  readonly #maxBytes: number;
  /** A server has answered: what it speaks is known. */
  #answered = false;
  /** Whether the port speaks TLS, once that was asked. */
  #tls: Promise<boolean> | null = null;
  readonly #endProbe = new AbortController();
  #closing: Promise<void> | null = null;
  #destroyed: Promise<void> | null = null;

  constructor(options: TransportOptions) {
    const totalMs = options.timeoutMs * TOTAL_FACTOR;
    this.#inFlight = new InFlight({ totalMs, unsentMs: totalMs + CONNECT_TIMEOUT_MS });
    const { connections, timeoutMs, tls = null } = options;
    this.#dispatcher = openDispatcher(options.base, { connections, timeoutMs, connectTimeoutMs: CONNECT_TIMEOUT_MS, tls }, process.env);
    this.#base = options.base;
    this.#maxBytes = options.maxResponseBytes;
  }

  /** Rejects with what undici says of a call that cannot be put on the wire (a programmer error); for nothing else. */
  send(request: TransportRequest, signal: AbortSignal | undefined): Promise<Exchange> {
    return new Promise((resolve, reject) => {
      const exchange = new Exchange(this.#inFlight, this.#maxBytes, (done) => this.#settle(done, resolve), reject);
      this.#inFlight.add(exchange);
      if (this.#closing !== null || this.#destroyed !== null) exchange.fail({ code: 'aborted', detail: 'the client is closed' });
      if (signal !== undefined) exchange.watch(signal);
      if (!exchange.settled) this.#dispatch(request, exchange);
    });
  }

  /** Waits for what is under way, then closes the sockets. */
  close(): Promise<void> {
    this.#closing ??= this.#inFlight.whenEmpty().then(() => this.destroy());
    return this.#closing;
  }

  /** Cancels what is under way. */
  destroy(): Promise<void> {
    this.#inFlight.abortAll('cancelled: the client was destroyed');
    this.#endProbe.abort();
    this.#destroyed ??= this.#dispatcher.destroy();
    return this.#destroyed;
  }

  /** A call whose connection failed is explained first. */
  #settle(exchange: Exchange, resolve: (exchange: Exchange) => void): void {
    if (exchange.status > 0) this.#answered = true;
    if (exchange.networkError === null) resolve(exchange);
    else void this.#explain(exchange, exchange.networkError).then(() => resolve(exchange));
  }

  async #explain(exchange: Exchange, error: Error): Promise<void> {
    const { origin, hostname, protocol } = this.#base;
    const explained = explain(error, this.#base);
    exchange.failure = { code: 'network', ...explained };
    const closed = CLOSED.has((error as NodeJS.ErrnoException).code ?? '');
    if (!closed || this.#answered || protocol === 'https:' || proxyFor(this.#base, process.env) !== null) return;
    const { port } = new URL(origin);
    this.#tls ??= speaksTls(hostname, Number(port || HTTP_PORT), this.#endProbe.signal);
    if (await this.#tls) exchange.failure = { code: 'network', fault: 'needs_tls', detail: `${origin} speaks TLS` };
  }

  #dispatch({ method, path, headers, body }: TransportRequest, exchange: Exchange): void {
    try {
      this.#dispatcher.dispatch({ origin: this.#base.origin, path, method, headers, body }, exchange);
    } catch (error) {
      // undici's pools report everything to the handler; its proxy agents throw some of it.
      exchange.onResponseError(null, error as Error);
    }
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
