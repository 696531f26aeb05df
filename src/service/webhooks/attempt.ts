/** One delivery attempt: a POST with a time limit. It follows no redirect and goes to public addresses only. */
import { Agent as HttpAgent, request as requestHttp, type ClientRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import type { Resolver } from '../../verification/dns/resolver.ts';
import { checkedLookup } from './ssrf-guard.ts';
import { urlProblem } from './url.ts';

/** From the DNS lookup to the end of the answer, milliseconds. */
export const TIMEOUT_MS = 15_000;
/** An answer is read up to this size and discarded. */
const MAX_ANSWER_BYTES = 64 * 1024;
/** Interim answers (1xx) that are accepted: each takes time from requests, and HTTP allows any number. */
const MAX_INTERIM = 16;
/** Idle connections for the next delivery: one per receiver, for a shorter time than servers usually keep them. */
const KEEP_ALIVE = { keepAlive: true, timeout: 4_000, maxFreeSockets: 1 } as const;
/** Idle connections in total: one key may deliver to thousands of hosts, and file descriptors are limited. */
const MAX_IDLE = 64;

/** The result of an attempt: status and `Retry-After` of the answer, or why there was no answer. */
export type Attempt =
  | { readonly status: number; readonly error: null; readonly retryAfter?: string }
  | { readonly status: null; readonly error: AttemptError };
type AttemptError = 'refused_address' | 'no_such_host' | 'tls_failed' | 'connection_failed' | 'timed_out' | 'stopped';

interface AttemptSenderOptions {
  /** Allows HTTP and private addresses except cloud metadata, and resolves names by this machine's resolver. */
  readonly isDevelopment: boolean;
  readonly resolver: Pick<Resolver, 'addresses'>;
}

export class AttemptSender {
  readonly #isDevelopment: boolean;
  readonly #lookup: Pick<RequestOptions, 'lookup'>;
  readonly #http = limitIdle(new HttpAgent(KEEP_ALIVE));
  readonly #https = limitIdle(new HttpsAgent(KEEP_ALIVE));

  constructor({ isDevelopment, resolver }: AttemptSenderOptions) {
    this.#isDevelopment = isDevelopment;
    this.#lookup = { lookup: checkedLookup(isDevelopment ? null : resolver) };
  }

  /** Makes one attempt. Never rejects. */
  async send(url: string, headers: Readonly<Record<string, string>>, body: string, stop: AbortSignal): Promise<Attempt> {
    // The address may have been accepted by a service in development.
    if (urlProblem(url, this.#isDevelopment) !== null) return { status: null, error: 'refused_address' };
    const sent = {
      ...this.#lookup,
      method: 'POST',
      headers: {
        ...headers,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        'user-agent': 'Millrace-Webhooks',
      },
    };
    const first = await this.#attempt(url, sent, body, stop);
    // The server closed an idle connection meanwhile. This is not a failure, so a new connection is tried.
    return first === 'stale' ? orFailed(await this.#attempt(url, { ...sent, agent: false }, body, stop)) : first;
  }

  /** Closes idle connections. */
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
      let hasEnded = false;
      const finish = (attempt: Attempt | 'stale'): void => {
        clearTimeout(timer);
        stop.removeEventListener('abort', stopped);
        resolve(attempt);
        // A connection whose request and answer ended stays open for the next delivery.
        if (!hasEnded || !request.writableFinished) request.destroy();
      };
      const giveUp = (error: AttemptError): void =>
        finish(status === null ? { status: null, error } : { status, error: null, ...(retryAfter === undefined ? {} : { retryAfter }) });
      const stopped = (): void => giveUp('stopped');
      const timer = setTimeout(() => giveUp('timed_out'), TIMEOUT_MS);
      stop.addEventListener('abort', stopped, { once: true });
      let interim = 0;
      request.on('information', () => {
        if (++interim > MAX_INTERIM) giveUp('connection_failed');
      });
      request.once('response', (response: IncomingMessage) => {
        status = response.statusCode ?? 0;
        retryAfter = response.headers['retry-after'];
        let bytes = 0;
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > MAX_ANSWER_BYTES) giveUp('connection_failed');
        });
        response.once('end', () => {
          hasEnded = true;
          giveUp('connection_failed');
        });
        response.on('error', () => giveUp('connection_failed'));
      });
      request.on('error', (error: NodeJS.ErrnoException) => {
        if (request.reusedSocket && status === null && error.code === 'ECONNRESET') finish('stale');
        else giveUp(reasonOf(error));
      });
      // An answer that switches protocols is followed by this event only.
      request.once('close', () => giveUp('connection_failed'));
      request.end(body);
      if (stop.aborted) stopped();
    });
  }
}

function limitIdle<A extends HttpAgent>(agent: A): A {
  const keep = agent.keepSocketAlive.bind(agent);
  // A host has one idle socket, so the number of hosts is the number of sockets. Sockets beyond the limit are closed.
  agent.keepSocketAlive = (socket) => Object.keys(agent.freeSockets).length < MAX_IDLE && keep(socket);
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
