/** An HTTP proxy that stands before a real server and breaks what a test tells it to break. */
import { once } from 'node:events';
import { createServer, request as send, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Transform } from 'node:stream';

export type Fault =
  /** Answered by the proxy; the server never sees it. */
  | { readonly kind: 'answer'; readonly status: number; readonly body?: string; readonly headers?: Readonly<Record<string, string>> }
  /** The connection ends without an answer. */
  | { readonly kind: 'reset' }
  /** The server does what it is asked for; its answer does not arrive. `whenDone` comes right before the connection ends. */
  | { readonly kind: 'lost'; readonly whenDone?: () => void }
  /** It reaches the server only then. */
  | { readonly kind: 'held'; readonly until: Promise<unknown> }
  /** The object in the answer was written so much earlier. */
  | { readonly kind: 'aged'; readonly byMs: number }
  /** It is taken piece by piece, and so long after each nothing more is. */
  | { readonly kind: 'slow'; readonly eachMs: number }
  /** No answer, ever. */
  | { readonly kind: 'hang' }
  /** The answer's body ends after so many bytes, and the connection with it. */
  | { readonly kind: 'cut'; readonly afterBytes: number }
  /** The answer's body stops after so many bytes, and the connection stays open. */
  | { readonly kind: 'stall'; readonly afterBytes: number };

/** What S3 says when it is asked too fast. */
export const SLOW_DOWN: Fault = { kind: 'answer', status: 503, body: '<?xml version="1.0"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>' };

export interface Relayed {
  readonly method: string;
  /** Path and query; the whole url where it is used as a forward proxy. */
  readonly url: string;
  readonly range: string | null;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** From 1. */
  readonly number: number;
  readonly fault: Fault | null;
  /** Body bytes that went to the client. */
  bytes: number;
  /** The server's answer has come. */
  answered: boolean;
  /** Body bytes that came from it. */
  sent: number;
}

export class FaultProxy {
  url = '';
  /** What to do with a request; null: nothing. */
  faultFor: (request: Omit<Relayed, 'fault' | 'bytes' | 'sent' | 'answered'>) => Fault | null = () => null;
  readonly relayed: Relayed[] = [];
  readonly #target: URL;
  readonly #server = createServer((request, response) => this.#take(request, response));

  private constructor(target: string) {
    this.#target = new URL(target);
  }

  static async start(target: string): Promise<FaultProxy> {
    const proxy = new FaultProxy(target);
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

  #take(request: IncomingMessage, response: ServerResponse): void {
    const seen = { method: request.method ?? '', url: request.url ?? '', range: request.headers.range ?? null, headers: request.headers, number: this.relayed.length + 1 };
    const relayed: Relayed = { ...seen, fault: this.faultFor(seen), bytes: 0, sent: 0, answered: false };
    this.relayed.push(relayed);
    const { fault } = relayed;
    switch (fault?.kind) {
      case 'hang':
        return;
      case 'reset':
        request.socket.resetAndDestroy();
        return;
      case 'answer':
        request.resume();
        response.writeHead(fault.status, { 'content-type': 'application/xml', ...fault.headers }).end(seen.method === 'HEAD' ? '' : fault.body);
        return;
      case 'held':
        void fault.until.then(() => this.#pass(request, response, relayed));
        return;
      case 'slow':
      case 'lost':
      case 'aged':
      case 'cut':
      case 'stall':
      case undefined:
        this.#pass(request, response, relayed);
        return;
      default:
        fault satisfies never;
    }
  }

  /** On to the server as it came: the signature covers the host that the client knows. */
  #pass(request: IncomingMessage, response: ServerResponse, relayed: Relayed): void {
    const { fault } = relayed;
    const { method, rawHeaders: headers } = request;
    // A client that was told of a proxy asks it by the whole url (RFC 9112, 3.2.2).
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
      const most = fault?.kind === 'cut' || fault?.kind === 'stall' ? fault.afterBytes : Infinity;
      answer.on('data', (bytes: Buffer) => {
        const passed = bytes.subarray(0, most - relayed.bytes);
        relayed.bytes += passed.length;
        response.write(passed);
        if (relayed.bytes < most) return;
        answer.destroy();
        // What was written arrives: a reset would take back what the other side has not read yet.
        if (fault?.kind === 'cut') response.write('', () => response.socket?.destroy());
      });
      answer.on('end', () => response.end());
      answer.on('error', () => undefined);
    });
    onward.on('error', () => response.destroy());
    request.on('data', (bytes: Buffer) => {
      relayed.sent += bytes.length;
    });
    if (fault?.kind === 'slow') request.pipe(slowly(fault.eachMs)).pipe(onward);
    else request.pipe(onward);
  }
}

/** Lets through a piece at a time. */
function slowly(eachMs: number): Transform {
  return new Transform({ highWaterMark: 1, transform: (bytes: Buffer, _encoding, done) => void setTimeout(() => done(null, bytes), eachMs) });
}

function agedHeaders({ headers }: IncomingMessage, byMs: number): IncomingMessage['headers'] {
  const written = Date.parse(headers['last-modified'] ?? '');
  return Number.isNaN(written) ? headers : { ...headers, 'last-modified': new Date(written - byMs).toUTCString() };
}
