/** Sends the calls of the library with `fetch`: attempts, pauses, time limits, and the reading of answers. */
import type { BaseUrl } from '../base-url.ts';
import { DataServiceError } from '../data-service-error.ts';
import type { Redactor } from '../redactor.ts';
import { parseRetryAfter } from '../retry-after.ts';
import type { ResponseHeaders } from '../types.ts';
import { answerError } from './answer-error.ts';
import { CallSignal } from './call-signal.ts';
import { parseObject } from './check-answer.ts';
import { lastResponseOf, type LastResponse } from './last-response.ts';
import { bytesOf } from './read-bytes.ts';
import { Retries, type RetryOptions } from './retries.ts';
import type { SharedCalls } from './shared-calls.ts';
import type { ShapeName } from './shapes.ts';

const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
/** One attempt may take this many time limits: a body that dribbles must end. */
const TOTAL_FACTOR = 2;

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With its query, from `/v1` on. */
  readonly path: string;
  readonly json?: unknown;
  readonly content?: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  readonly idempotencyKey?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Instead of the client's. */
  readonly timeoutMs?: number;
  /** Another status that is an answer. */
  readonly also?: number;
}

/** An answer with a status of a success, before it is read. */
export interface CallAnswer {
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly text: string;
}

export interface CallerOptions extends RetryOptions {
  readonly base: BaseUrl;
  /** The key of the moment; null for none. */
  readonly apiKey: () => string | null;
  readonly redactor: Redactor;
  /** Null where the platform has one that cannot be changed. */
  readonly userAgent: string | null;
  readonly timeoutMs: number;
  /** Sent beside those of the library, which win. */
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: typeof fetch;
  /** Added to the message of a call that found no connection; '' for nothing. */
  readonly networkHint: string;
}

export class Caller {
  /** Quota, credits and request id of the last answer; null before the first. */
  lastResponse: LastResponse | null = null;
  readonly options: CallerOptions;
  readonly #shared: SharedCalls;

  constructor(options: CallerOptions, shared: SharedCalls) {
    this.options = options;
    this.#shared = shared;
  }

  /** Another caller with the same connections. */
  with(changes: Partial<Pick<CallerOptions, 'timeoutMs' | 'maxAttempts' | 'headers'>>): Caller {
    return new Caller({ ...this.options, ...changes }, this.#shared);
  }

  get timeoutMs(): number {
    return this.options.timeoutMs;
  }

  /** The record of a success. @throws DataServiceError, `bad_body` for an answer of other types */
  async record<T>(shape: ShapeName, call: Call): Promise<T> {
    return await this.answer(call, (answer) => this.parse(call, answer, shape) as T);
  }

  /** Reads a success, after as many attempts as it takes. @throws DataServiceError */
  async answer<T>(call: Call, read: (answer: CallAnswer) => T): Promise<T> {
    const retries = this.retries();
    const headers = this.#headers(call);
    for (;;) {
      try {
        return await this.#attempt(call, headers, read);
      } catch (error) {
        if (!(error instanceof DataServiceError)) throw error;
        if (call.signal?.aborted === true) throw Object.assign(error, { attempts: retries.sent + 1 });
        // An earlier attempt has removed it.
        if (call.method === 'DELETE' && error.code === 'not_found' && retries.sent > 0) return read({ status: 204, headers: {}, text: '' });
        await this.pause(retries.pauseAfter(error), call.signal);
      }
    }
  }

  /** Waits for calls under way. */
  async close(): Promise<void> {
    await this.#shared.close();
  }

  /** Ends calls under way. */
  async destroy(): Promise<void> {
    await this.#shared.destroy();
  }

  retries(): Retries {
    return new Retries(this.options, Math.random);
  }

  /** @throws DataServiceError `aborted` */
  async pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
    const ends = new CallSignal([this.#shared.end, signal], null);
    try {
      await new Promise<void>((resolve, reject) => {
        const timer = setTimeout(resolve, Math.min(ms, 2 ** 31 - 1));
        const stop = (): void => {
          clearTimeout(timer);
          reject(ended('the call', signal));
        };
        if (ends.signal.aborted) stop();
        else ends.signal.addEventListener('abort', stop, { once: true });
      });
    } finally {
      ends.dispose();
    }
  }

  /** One attempt at an answer that is read piece by piece. @param idleMs between two pieces. @throws DataServiceError */
  async *pieces(call: Call, idleMs = this.options.timeoutMs): AsyncGenerator<Uint8Array> {
    const ends = new CallSignal([this.#shared.end, call.signal], null);
    const done = this.#shared.begin();
    let response: Response | null = null;
    try {
      if (this.#shared.isClosed) throw ended(this.#shown(call), undefined);
      response = await this.#send(call, this.#headers(call), ends);
      if (response.status >= 300) throw this.#refused(call, response, await this.#text(call, response, ends));
      ends.expectWithin(idleMs);
      for await (const piece of bytesOf(response.body)) {
        ends.expectWithin(idleMs);
        yield piece;
      }
    } catch (error) {
      throw this.#failed(call, error, response?.status ?? 0, ends);
    } finally {
      // Leaving early closes the connection.
      ends.abort();
      ends.dispose();
      done();
    }
  }

  /** The JSON object of an answer, with the API key masked. @throws DataServiceError `bad_body` */
  parse(call: Call, { status, headers, text }: CallAnswer, shape: ShapeName | null): Readonly<Record<string, unknown>> {
    const found = parseObject(this.options.redactor.data(text), shape);
    if (typeof found !== 'string') return found;
    throw this.bad(call, found, status, headers);
  }

  /** The error of an answer that is of no use, and may be better next time. */
  bad(call: Call, detail: string, status = 200, headers: ResponseHeaders = {}): DataServiceError {
    const { requestId } = lastResponseOf(status, headers, this.options.redactor);
    return new DataServiceError(`${this.#shown(call)}: ${detail} (bad_body)`, { code: 'bad_body', status, retryable: true, requestId });
  }

  async #attempt<T>(call: Call, headers: Headers, read: (answer: CallAnswer) => T): Promise<T> {
    const waits = new CallSignal([this.#shared.end, call.signal], null);
    const done = this.#shared.begin();
    let leave: (() => void) | null = null;
    let ends: CallSignal | null = null;
    let response: Response | null = null;
    try {
      if (this.#shared.isClosed) throw ended(this.#shown(call), undefined);
      leave = await this.#shared.take(waits.signal);
      ends = new CallSignal([waits.signal], (call.timeoutMs ?? this.options.timeoutMs) * TOTAL_FACTOR);
      response = await this.#send(call, headers, ends);
      const text = await this.#text(call, response, ends);
      const { status } = response;
      if (status >= 300 && status !== call.also) throw this.#refused(call, response, text);
      return read({ status, headers: headersOf(response), text });
    } catch (error) {
      throw this.#failed(call, error, response?.status ?? 0, ends ?? waits);
    } finally {
      ends?.dispose();
      waits.dispose();
      leave?.();
      done();
    }
  }

  async #send(call: Call, headers: Headers, ends: CallSignal): Promise<Response> {
    const { base, fetch } = this.options;
    const { method, json, content } = call;
    ends.expectWithin(call.timeoutMs ?? this.options.timeoutMs);
    const body = json === undefined ? ((content as Uint8Array<ArrayBuffer> | undefined) ?? null) : JSON.stringify(json);
    const url = base.origin + base.prefix + call.path;
    const response = await fetch(url, { method, headers, body, signal: ends.signal, redirect: 'manual' });
    this.lastResponse = lastResponseOf(response.status, headersOf(response), this.options.redactor);
    return response;
  }

  async #text(call: Call, response: Response, ends: CallSignal): Promise<string> {
    const idleMs = call.timeoutMs ?? this.options.timeoutMs;
    const decoder = new TextDecoder();
    let text = '';
    let size = 0;
    ends.expectWithin(idleMs);
    for await (const piece of bytesOf(response.body)) {
      ends.expectWithin(idleMs);
      size += piece.length;
      if (size > MAX_ANSWER_BYTES)
        throw this.bad(call, `the answer is larger than ${MAX_ANSWER_BYTES} bytes`, response.status, headersOf(response));
      text += decoder.decode(piece, { stream: true });
    }
    return text + decoder.decode();
  }

  /** They are the same in each attempt. @throws TypeError for a header that cannot be sent */
  #headers({ method, json, idempotencyKey, headers: own }: Call): Headers {
    const { apiKey, userAgent, headers: given } = this.options;
    const headers = new Headers(given);
    const set = (name: string, value: string | null): void => (value === null ? undefined : headers.set(name, value));
    const key = apiKey();
    set('authorization', key === null ? null : `Bearer ${key}`);
    set('accept', 'application/json');
    set('user-agent', userAgent);
    if (json !== undefined) set('content-type', 'application/json');
    if (method === 'POST') set('idempotency-key', idempotencyKey ?? crypto.randomUUID());
    for (const [name, value] of Object.entries(own ?? {})) set(name, value);
    return headers;
  }

  #refused(call: Call, response: Response, text: string): DataServiceError {
    // A browser shows nothing of a redirect.
    const status = response.type === 'opaqueredirect' ? 302 : response.status;
    const headers = headersOf(response);
    const { requestId } = lastResponseOf(status, headers, this.options.redactor);
    return answerError({ call: this.#shown(call), status, headers, text, requestId }, this.options.redactor, Date.now());
  }

  /** @param status of an answer that broke off; 0 when none came */
  #failed(call: Call, error: unknown, status: number, ends: CallSignal): DataServiceError {
    if (error instanceof DataServiceError) return error;
    const shown = this.#shown(call);
    if (call.signal?.aborted === true || this.#shared.end.aborted) return ended(shown, call.signal);
    const { message, code } = causeOf(error);
    if (ends.isLate || TIMEOUTS.has(code)) {
      return new DataServiceError(`${shown}: no complete answer in time (timeout)`, { code: 'timeout', retryable: true });
    }
    const words = this.options.redactor.words(message);
    const isCut = status >= 200 && status < 300;
    const what = isCut ? `the answer broke off: ${words} (bad_body)` : `${words} (network)${this.options.networkHint}`;
    return new DataServiceError(`${shown}: ${what}`, { code: isCut ? 'bad_body' : 'network', status: isCut ? status : 0, retryable: true });
  }

  /** Without the query. */
  #shown({ method, path }: Call): string {
    const { origin, prefix } = this.options.base;
    return `${method} ${origin}${prefix}${path.split('?', 1)[0]}`;
  }
}

/** The codes of undici, which is the fetch of Node. */
const TIMEOUTS: ReadonlySet<string> = new Set(['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'ETIMEDOUT']);

/** `fetch` says only that it failed; its cause says why. */
function causeOf(error: unknown): { readonly message: string; readonly code: string } {
  const outer = error instanceof Error ? error : new Error(String(error));
  const inner = outer.cause instanceof AggregateError ? (outer.cause.errors[0] as unknown) : outer.cause;
  const cause = inner instanceof Error ? inner : outer;
  const { code } = cause as { readonly code?: unknown };
  const known = typeof code === 'string' ? code : '';
  return { message: cause.message || known || cause.name, code: known };
}

function headersOf({ headers }: Response): ResponseHeaders {
  return Object.fromEntries(headers);
}

/** A signal of `AbortSignal.timeout` is a time limit; any other is the caller's wish. */
function ended(shown: string, signal: AbortSignal | undefined): DataServiceError {
  const reason: unknown = signal?.reason;
  if (signal?.aborted === true && reason instanceof DOMException && reason.name === 'TimeoutError') {
    return new DataServiceError(`${shown}: the time limit of the signal passed (timeout)`, { code: 'timeout', retryable: true });
  }
  const words = signal?.aborted === true ? 'cancelled by the caller' : 'the client is closed';
  return new DataServiceError(`${shown}: ${words} (aborted)`, { code: 'aborted', retryable: false });
}

/** Milliseconds until the state of a job is asked for again: what the service says, from 1 to 60 seconds. */
export function pollPauseOf({ headers }: CallAnswer): number {
  const asked = parseRetryAfter(headers['retry-after'], headers['date'], Date.now());
  return Math.min(60_000, Math.max(1_000, asked ?? 0));
}
