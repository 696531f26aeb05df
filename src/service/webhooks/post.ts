/** One attempt to deliver: a POST that follows no redirect, waits no longer than it should, and goes to public addresses alone. */
import { Agent as HttpAgent, request as requestHttp, type ClientRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import type { Resolver } from '../../verification/dns/resolver.ts';
import { checkedLookup } from './reach.ts';
import { urlProblem } from './url.ts';

/** From the name's look-up to the end of the answer, milliseconds. */
export const TIMEOUT_MS = 15_000;
/** Of an answer so much is read, and thrown away. */
const MAX_ANSWER_BYTES = 64 * 1024;
/** Preliminary answers (1xx): each takes time from requests, and they need not end. */
const MOST_PRELIMINARY = 16;
/** Connections that are kept for the next delivery: shorter than servers keep an idle one, as a rule, and one a receiver. */
const KEPT = { keepAlive: true, timeout: 4_000, maxFreeSockets: 1 } as const;
/** Of them so many: one key may deliver to thousands of hosts in that time, and the files that the process may open are everybody's. */
const MOST_KEPT = 64;

/** What came of an attempt: the status of the answer, and when the receiver wants the next one, as it says so; or why there was no answer. */
export type Attempt = { readonly status: number; readonly error: null; readonly retryAfter?: string } | { readonly status: null; readonly error: AttemptError };
export type AttemptError = 'refused_address' | 'no_such_host' | 'tls_failed' | 'connection_failed' | 'timed_out' | 'stopped';

export interface PosterOptions {
  /** HTTP and private addresses are allowed, a cloud's metadata apart, and this machine's own ways to find names are used. */
  readonly isDevelopment: boolean;
  readonly resolver: Pick<Resolver, 'addresses'>;
}

export class Poster {
  readonly #isDevelopment: boolean;
  readonly #lookup: Pick<RequestOptions, 'lookup'>;
  readonly #http = keepingFew(new HttpAgent(KEPT));
  readonly #https = keepingFew(new HttpsAgent(KEPT));

  constructor({ isDevelopment, resolver }: PosterOptions) {
    this.#isDevelopment = isDevelopment;
    this.#lookup = { lookup: checkedLookup(isDevelopment ? null : resolver) };
  }

  /** Sends once. Never rejects. */
  async post(url: string, headers: Readonly<Record<string, string>>, body: string, stop: AbortSignal): Promise<Attempt> {
    // Also one that was let in by a service in development.
    if (urlProblem(url, this.#isDevelopment) !== null) return { status: null, error: 'refused_address' };
    const sent = { ...this.#lookup, method: 'POST', headers: { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), 'user-agent': 'Millrace-Webhooks' } };
    const first = await this.#attempt(url, sent, body, stop);
    // A connection that the server has closed meanwhile says nothing of the server.
    return first === 'stale' ? orFailed(await this.#attempt(url, { ...sent, agent: false }, body, stop)) : first;
  }

  /** Lets go of idle connections. */
  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }

  #attempt(url: string, options: RequestOptions, body: string, stop: AbortSignal): Promise<Attempt | 'stale'> {
    return new Promise((resolve) => {
      const isTls = url.startsWith('https:');
      const request: ClientRequest = (isTls ? requestHttps : requestHttp)(url, { agent: isTls ? this.#https : this.#http, ...options });
      let status: number | null = null;
      let retryAfter: string | undefined;
      let isOver = false;
      const finish = (attempt: Attempt | 'stale'): void => {
        clearTimeout(timer);
        stop.removeEventListener('abort', stopped);
        resolve(attempt);
        // What has ended by itself, on both sides, is kept for the next delivery.
        if (!isOver || !request.writableFinished) request.destroy();
      };
      const giveUp = (error: AttemptError): void => finish(status === null ? { status: null, error } : { status, error: null, ...(retryAfter === undefined ? {} : { retryAfter }) });
      const stopped = (): void => giveUp('stopped');
      const timer = setTimeout(() => giveUp('timed_out'), TIMEOUT_MS);
      stop.addEventListener('abort', stopped, { once: true });
      let preliminary = 0;
      request.on('information', () => {
        if (++preliminary > MOST_PRELIMINARY) giveUp('connection_failed');
      });
      request.once('response', (response: IncomingMessage) => {
        status = response.statusCode ?? 0;
        retryAfter = response.headers['retry-after'];
        let bytes = 0;
        response.on('data', (piece: Buffer) => {
          bytes += piece.length;
          if (bytes > MAX_ANSWER_BYTES) giveUp('connection_failed');
        });
        response.once('end', () => {
          isOver = true;
          giveUp('connection_failed');
        });
        response.on('error', () => giveUp('connection_failed'));
      });
      request.on('error', (error: NodeJS.ErrnoException) => {
        if (request.reusedSocket && status === null && error.code === 'ECONNRESET') finish('stale');
        else giveUp(reasonOf(error));
      });
      // An answer that asks for another protocol ends in nothing else.
      request.once('close', () => giveUp('connection_failed'));
      request.end(body);
      if (stop.aborted) stopped();
    });
  }
}

function keepingFew<A extends HttpAgent>(agent: A): A {
  const keep = agent.keepSocketAlive.bind(agent);
  // What is not kept is closed. There is one a host.
  agent.keepSocketAlive = (socket) => Object.keys(agent.freeSockets).length < MOST_KEPT && keep(socket);
  return agent;
}

function orFailed(attempt: Attempt | 'stale'): Attempt {
  return attempt === 'stale' ? { status: null, error: 'connection_failed' } : attempt;
}

function reasonOf({ code = '' }: NodeJS.ErrnoException): AttemptError {
  if (code === 'refused_address' || code === 'no_such_host') return code;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'no_such_host';
  return /CERT|SSL|TLS|SELF_SIGNED|UNABLE_TO|HOSTNAME/.test(code) ? 'tls_failed' : 'connection_failed';
}
