/** An HTTP proxy in front of a real server that injects the faults of a test. */
import { once } from 'node:events';
import { createServer, request as send, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Readable, Transform, type Duplex } from 'node:stream';

export type Fault =
  /** The proxy answers; the server never sees the request. */
  | { readonly kind: 'answer'; readonly status: number; readonly body?: string; readonly headers?: Readonly<Record<string, string>> }
  /** The connection ends without an answer. */
  | { readonly kind: 'reset' }
  /** The server executes the request, and its answer is lost. `whenDone` is called right before the connection ends. */
  | { readonly kind: 'lost'; readonly whenDone?: () => void }
  /** The request reaches the server after `until`. */
  | { readonly kind: 'held'; readonly until: Promise<unknown> }
  /** The object in the answer appears older by `byMs`. */
  | { readonly kind: 'aged'; readonly byMs: number }
  /** `passes` is called with the number of bytes before each piece of the request's body. */
  | { readonly kind: 'slow'; readonly passes: (bytes: number) => void }
  /** The request is never answered. `hangs` is called, in turns of the event loop, until the client gives up. */
  | { readonly kind: 'hang'; readonly hangs?: () => void }
  /** The answer's body and the connection end after `afterBytes`. */
  | { readonly kind: 'cut'; readonly afterBytes: number }
  /** The answer's body stops after `afterBytes`, and the connection stays open. */
  | { readonly kind: 'stall'; readonly afterBytes: number }
  /** The answer's body arrives byte by byte, one every `everyMs`. */
  | { readonly kind: 'dribble'; readonly everyMs: number }
  /** The headers of a good answer arrive byte by byte. */
  | { readonly kind: 'dribbled headers'; readonly everyMs: number };

/** The answer of S3 to too many requests. */
export const SLOW_DOWN: Fault = {
  kind: 'answer',
  status: 503,
  body: '<?xml version="1.0"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>',
};

export interface Relayed {
  readonly method: string;
  /** Path and query; the whole url for a forward proxy. */
  readonly url: string;
  readonly range: string | null;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** From 1. */
  readonly number: number;
  readonly fault: Fault | null;
  /** Body bytes sent to the client. */
  bytes: number;
  /** True when the server's answer has arrived. */
  answered: boolean;
  /** Body bytes of the request. */
  sent: number;
}

export class FaultProxy {
  url = '';
  /** The fault of a request. Null for none. */
  faultFor: (request: Omit<Relayed, 'fault' | 'bytes' | 'sent' | 'answered'>) => Fault | null = () => null;
  readonly relayed: Relayed[] = [];
  /** Connections of clients so far. */
  connections = 0;
  readonly #target: URL;
  readonly #server = createServer((request, response) => this.#take(request, response));

  private constructor(target: string) {
    this.#target = new URL(target);
  }

  static async start(target: string): Promise<FaultProxy> {
    const proxy = new FaultProxy(target);
    proxy.#server.on('connection', () => proxy.connections++);
    proxy.#server.on('connect', (request, socket) => proxy.#tunnel(request, socket));
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    proxy.url = `http://127.0.0.1:${(proxy.#server.address() as AddressInfo).port}`;
    return proxy;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  /** Serves what comes through a tunnel for plain HTTP. One for TLS is noted, and refused. */
  #tunnel({ method = '', url = '', headers }: IncomingMessage, socket: Duplex): void {
    if (!url.endsWith(':443')) {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      this.#server.emit('connection', socket);
      return;
    }
    const number = this.relayed.length + 1;
    this.relayed.push({ method, url, range: null, headers, number, fault: null, bytes: 0, sent: 0, answered: false });
    socket.on('error', () => undefined).end('HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n');
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    const seen = {
      method: request.method ?? '',
      url: request.url ?? '',
      range: request.headers.range ?? null,
      headers: request.headers,
      number: this.relayed.length + 1,
    };
    const relayed: Relayed = { ...seen, fault: this.faultFor(seen), bytes: 0, sent: 0, answered: false };
    this.relayed.push(relayed);
    const { fault } = relayed;
    switch (fault?.kind) {
      case 'hang':
        whileOpen(request.socket, fault.hangs);
        return;
      case 'dribbled headers':
        Readable.from([Buffer.from('HTTP/1.1 200 OK\r\nX-Slow: yes\r\nContent-Length: 2\r\n\r\n{}')])
          .pipe(byteByByte(fault.everyMs))
          .pipe(request.socket);
        return;
      case 'reset':
        request.socket.resetAndDestroy();
        return;
      case 'answer':
        request.resume();
        response
          .writeHead(fault.status, { 'content-type': 'application/xml', ...fault.headers })
          .end(seen.method === 'HEAD' ? '' : fault.body);
        return;
      case 'held':
        void fault.until.then(() => this.#pass(request, response, relayed));
        return;
      case 'slow':
      case 'lost':
      case 'aged':
      case 'cut':
      case 'stall':
      case 'dribble':
      case undefined:
        this.#pass(request, response, relayed);
        return;
      default:
        fault satisfies never;
    }
  }

  /** Forwards the request unchanged, because its signature covers the host that the client knows. */
  #pass(request: IncomingMessage, response: ServerResponse, relayed: Relayed): void {
    const { fault } = relayed;
    const { method, rawHeaders: headers } = request;
    // A client with a configured proxy sends the whole url (RFC 9112, 3.2.2).
    const path = request.url?.replace(/^http:\/\/[^/]+/, '');
    const onward = send({ host: this.#target.hostname, port: this.#target.port, method, path, headers, setHost: false }, (answer) => {
      relayed.answered = true;
      if (fault?.kind === 'lost') {
        answer.resume();
        fault.whenDone?.();
        response.socket?.destroy();
        return;
      }
      response.writeHead(answer.statusCode ?? 502, fault?.kind === 'aged' ? agedHeaders(answer, fault.byMs) : answer.rawHeaders);
      if (fault?.kind === 'dribble') {
        const slow = byteByByte(fault.everyMs);
        response.on('close', () => [answer, slow].forEach((stream) => stream.destroy()));
        answer.pipe(slow).pipe(response);
        return;
      }
      const most = fault?.kind === 'cut' || fault?.kind === 'stall' ? fault.afterBytes : Infinity;
      answer.on('data', (bytes: Buffer) => {
        const passed = bytes.subarray(0, most - relayed.bytes);
        relayed.bytes += passed.length;
        response.write(passed);
        if (relayed.bytes < most) return;
        answer.destroy();
        // Waits for the write: a reset would discard bytes that the other side has not read yet.
        if (fault?.kind === 'cut') response.write('', () => response.socket?.destroy());
      });
      answer.on('end', () => response.end());
      answer.on('error', () => undefined);
    });
    onward.on('error', () => response.destroy());
    request.on('data', (bytes: Buffer) => {
      relayed.sent += bytes.length;
    });
    if (fault?.kind === 'slow') request.pipe(slowly(fault.passes)).pipe(onward);
    else request.pipe(onward);
  }
}

/** Passes one piece at a time. */
function slowly(passes: (bytes: number) => void): Transform {
  return new Transform({
    highWaterMark: 1,
    transform: (bytes: Buffer, _encoding, done) => {
      passes(bytes.length);
      setImmediate(done, null, bytes);
    },
  });
}

function byteByByte(everyMs: number): Transform {
  return new Transform({
    transform(bytes: Buffer, _encoding, done) {
      const pass = (at: number): void => {
        if (this.destroyed) return;
        if (at === bytes.length) done();
        else this.push(bytes.subarray(at, at + 1));
        if (at < bytes.length) setTimeout(pass, everyMs, at + 1);
      };
      pass(0);
    },
  });
}

function whileOpen(socket: Socket, work: (() => void) | undefined): void {
  if (work === undefined || socket.destroyed) return;
  work();
  setImmediate(() => whileOpen(socket, work));
}

function agedHeaders({ headers }: IncomingMessage, byMs: number): IncomingMessage['headers'] {
  const written = Date.parse(headers['last-modified'] ?? '');
  return Number.isNaN(written) ? headers : { ...headers, 'last-modified': new Date(written - byMs).toUTCString() };
}
