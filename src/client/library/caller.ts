/** Sends the calls of the library: attempts, pauses, time limits, and the reading of answers. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import { messageOf } from '../connection-fault.ts';
import { DataServiceError } from '../data-service-error.ts';
import { openDispatcher } from '../dispatcher.ts';
import type { BaseUrl } from '../base-url.ts';
import { headerOf } from '../answer.ts';
import type { Redactor } from '../redactor.ts';
import type { RotatingKey } from '../rotating-key.ts';
import { answerError } from './answer-error.ts';
import { CallSignal } from './call-signal.ts';
import { lastResponseOf, type LastResponse } from './last-response.ts';
import { Retries, type RetryOptions } from './retries.ts';

const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
/** One attempt may take this many time limits: a body that dribbles must end. */
const TOTAL_FACTOR = 2;
const TIMEOUTS: ReadonlySet<string> = new Set(['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'ETIMEDOUT']);
const CLOSED: ReadonlySet<string> = new Set(['UND_ERR_CLOSED', 'UND_ERR_DESTROYED']);

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With its query, from `/v1` on. */
  readonly path: string;
  readonly json?: unknown;
  readonly content?: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  readonly idempotencyKey?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Instead of the client's. */
  readonly timeoutMs?: number;
  /** Another status that is an answer. */
  readonly also?: number;
}

export interface CallAnswer {
  readonly status: number;
  readonly retryAfterMs: number | null;
  /** Undefined for an answer without a body. */
  readonly json: unknown;
}

export interface CallerOptions extends RetryOptions {
  readonly base: BaseUrl;
  readonly apiKey: RotatingKey;
  readonly redactor: Redactor;
  readonly userAgent: string;
  readonly timeoutMs: number;
  readonly connections: number;
}

export class Caller {
  /** Quota, credits and request id of the last answer; null before the first. */
  lastResponse: LastResponse | null = null;
  readonly #options: CallerOptions;
  readonly #dispatcher: Dispatcher;
  readonly #destroyed = new AbortController();
  #closing: Promise<void> | null = null;

  constructor(options: CallerOptions) {
    this.#options = options;
    const { base, connections, timeoutMs } = options;
    this.#dispatcher = openDispatcher(base, { connections, timeoutMs, connectTimeoutMs: timeoutMs }, process.env);
  }

  get timeoutMs(): number {
    return this.#options.timeoutMs;
  }

  /** The JSON of a success. @throws DataServiceError */
  async json(call: Call): Promise<unknown> {
    return (await this.answer(call)).json;
  }

  /** A success, after as many attempts as it takes. @throws DataServiceError */
  async answer(call: Call): Promise<CallAnswer> {
    const retries = this.retries();
    const prepared = call.method === 'POST' ? { ...call, idempotencyKey: call.idempotencyKey ?? randomUUID() } : call;
    for (;;) {
      try {
        return await this.#attempt(prepared);
      } catch (error) {
        if (!(error instanceof DataServiceError)) throw error;
        // An earlier attempt has removed it.
        if (call.method === 'DELETE' && error.code === 'not_found' && retries.sent > 0)
          return { status: 204, retryAfterMs: null, json: undefined };
        await this.pause(retries.pauseAfter(error), call.signal);
      }
    }
  }

  retries(): Retries {
    return new Retries(this.#options, Math.random);
  }

  /** @throws DataServiceError `aborted` */
  async pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
    const ends = this.#signal(signal, null);
    try {
      await sleep(ms, undefined, { signal: ends.signal });
    } catch {
      throw aborted('the call', signal);
    } finally {
      ends.dispose();
    }
  }

  /** One attempt at an answer that is read piece by piece. @param idleMs between two pieces. @throws DataServiceError */
  async *pieces(call: Call, idleMs = this.#options.timeoutMs): AsyncGenerator<Buffer> {
    const ends = this.#signal(call.signal, null);
    let response: Dispatcher.ResponseData | null = null;
    try {
      response = await this.#send(call, ends.signal, idleMs);
      if (response.statusCode >= 300) throw this.#refused(call, response, await this.#text(call, response));
      for await (const piece of response.body) yield piece as Buffer;
    } catch (error) {
      throw this.#failed(call, error, response?.statusCode ?? 0);
    } finally {
      response?.body.destroy();
      ends.dispose();
    }
  }

  /** The JSON in a text of an answer, with the API key masked. @throws DataServiceError `bad_body` */
  parse(call: Call, text: string): unknown {
    try {
      return JSON.parse(this.#options.redactor.data(text));
    } catch {
      throw new DataServiceError(`${this.#shown(call)}: the answer is not JSON (bad_body)`, {
        code: 'bad_body',
        status: 200,
        retryable: true,
      });
    }
  }

  /** Waits for requests under way. */
  async close(): Promise<void> {
    if (!this.#destroyed.signal.aborted) await (this.#closing ??= this.#dispatcher.close());
  }

  async destroy(): Promise<void> {
    this.#destroyed.abort();
    await this.#dispatcher.destroy();
  }

  async #attempt(call: Call): Promise<CallAnswer> {
    const ends = this.#signal(call.signal, (call.timeoutMs ?? this.#options.timeoutMs) * TOTAL_FACTOR);
    let response: Dispatcher.ResponseData | null = null;
    try {
      response = await this.#send(call, ends.signal, null);
      const text = await this.#text(call, response);
      const { statusCode: status, headers } = response;
      if (status >= 300 && status !== call.also) throw this.#refused(call, response, text);
      const retryAfter = Number(headerOf(headers, 'retry-after'));
      const retryAfterMs = Number.isNaN(retryAfter) ? null : retryAfter * 1000;
      return { status, retryAfterMs, json: status === 204 ? undefined : this.parse(call, text) };
    } catch (error) {
      throw this.#failed(call, error, response?.statusCode ?? 0);
    } finally {
      ends.dispose();
    }
  }

  async #send(call: Call, signal: AbortSignal, idleMs: number | null): Promise<Dispatcher.ResponseData> {
    const { base, apiKey, userAgent } = this.#options;
    const timeoutMs = call.timeoutMs ?? this.#options.timeoutMs;
    const { method, json, content } = call;
    const headers = {
      ...(apiKey.value === null ? {} : { authorization: `Bearer ${apiKey.value}` }),
      accept: 'application/json',
      'user-agent': userAgent,
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      ...(call.idempotencyKey === undefined ? {} : { 'idempotency-key': call.idempotencyKey }),
      ...call.headers,
    };
    const body = json === undefined ? (content ?? null) : JSON.stringify(json);
    const limits = { headersTimeout: timeoutMs, bodyTimeout: idleMs ?? timeoutMs };
    const request = { origin: base.origin, path: base.prefix + call.path, method, headers, body, signal, ...limits };
    const response = await this.#dispatcher.request(request);
    // A body that nobody reads to its end fails without a listener.
    response.body.on('error', () => undefined);
    this.lastResponse = lastResponseOf(response.statusCode, response.headers, this.#options.redactor);
    return response;
  }

  async #text(call: Call, { body, statusCode }: Dispatcher.ResponseData): Promise<string> {
    const pieces: Buffer[] = [];
    let size = 0;
    for await (const piece of body) {
      pieces.push(piece as Buffer);
      size += (piece as Buffer).length;
      if (size <= MAX_ANSWER_BYTES) continue;
      throw new DataServiceError(`${this.#shown(call)}: the answer is larger than ${MAX_ANSWER_BYTES} bytes (bad_body)`, {
        code: 'bad_body',
        status: statusCode,
        retryable: true,
      });
    }
    return Buffer.concat(pieces, size).toString();
  }

  #refused(call: Call, { statusCode: status, headers }: Dispatcher.ResponseData, text: string): DataServiceError {
    const requestId = this.lastResponse?.requestId ?? null;
    return answerError({ call: this.#shown(call), status, headers, text, requestId }, this.#options.redactor, Date.now());
  }

  /** @param status of an answer that broke off; 0 when none came. @throws the error of a call that cannot be put on the wire */
  #failed(call: Call, error: unknown, status: number): DataServiceError {
    if (error instanceof DataServiceError) return error;
    const shown = this.#shown(call);
    const { code = '', name } = error as NodeJS.ErrnoException;
    if (code === 'UND_ERR_INVALID_ARG') throw error;
    if (call.signal?.aborted === true || this.#destroyed.signal.aborted || CLOSED.has(code)) return aborted(shown, call.signal);
    if (TIMEOUTS.has(code) || name === 'TimeoutError') {
      return new DataServiceError(`${shown}: no complete answer in time (timeout)`, { code: 'timeout', retryable: true });
    }
    const words = this.#options.redactor.words(messageOf(error as Error));
    const isCut = status >= 200 && status < 300;
    const what = isCut ? `the answer broke off: ${words} (bad_body)` : `${words} (network)`;
    return new DataServiceError(`${shown}: ${what}`, { code: isCut ? 'bad_body' : 'network', status: isCut ? status : 0, retryable: true });
  }

  #signal(signal: AbortSignal | undefined, limitMs: number | null): CallSignal {
    return new CallSignal([this.#destroyed.signal, signal], limitMs);
  }

  /** Without the query. */
  #shown({ method, path }: Call): string {
    const { origin, prefix } = this.#options.base;
    return `${method} ${origin}${prefix}${path.split('?', 1)[0]}`;
  }
}

function aborted(shown: string, signal: AbortSignal | undefined): DataServiceError {
  const words = signal?.aborted === true ? 'cancelled by the caller' : 'the client is closed';
  return new DataServiceError(`${shown}: ${words} (aborted)`, { code: 'aborted', retryable: false });
}
