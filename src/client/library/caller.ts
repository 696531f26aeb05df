/** The calls of the library: attempts, pauses, and the reading of answers. */
import type { Answer } from '../answer.ts';
import type { BaseUrl } from '../base-url.ts';
import { DataServiceError } from '../data-service-error.ts';
import type { ExchangeFailure } from '../exchange.ts';
import { Pieces } from '../pieces.ts';
import type { Redactor } from '../redactor.ts';
import { parseRetryAfter } from '../retry-after.ts';
import type { SendOptions, Transport, TransportRequest } from '../transport.ts';
import type { ResponseHeaders } from '../types.ts';
import { answerError } from './answer-error.ts';
import { parseObject } from './check-answer.ts';
import { lastResponseOf, requestIdOf, type LastResponse } from './last-response.ts';
import { Retries, type RetryOptions } from './retries.ts';
import type { ShapeName } from './shapes.ts';

/** The longest delay of a timer; a longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export interface Call {
  readonly method: TransportRequest['method'];
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
  /** Those of the platform, such as the name of the client. */
  readonly platformHeaders: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Sent beside those of the library, which win. */
  readonly headers: Readonly<Record<string, string>>;
  readonly transport: Transport;
}

export class Caller {
  /** Quota, credits and request id of the last answer; null before the first. */
  lastResponse: LastResponse | null = null;
  readonly options: CallerOptions;

  constructor(options: CallerOptions) {
    this.options = options;
  }

  /** Another caller with the same connections. */
  with(changes: Partial<Pick<CallerOptions, 'timeoutMs' | 'maxAttempts' | 'headers'>>): Caller {
    return new Caller({ ...this.options, ...changes });
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
    await this.options.transport.close();
  }

  /** Ends calls under way. */
  async destroy(): Promise<void> {
    await this.options.transport.destroy();
  }

  retries(): Retries {
    return new Retries(this.options, Math.random);
  }

  /** @throws DataServiceError `aborted` */
  async pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
    const ends = [this.options.transport.ended, ...(signal === undefined ? [] : [signal])];
    await new Promise<void>((resolve, reject) => {
      const over = (): void => {
        clearTimeout(timer);
        for (const end of ends) end.removeEventListener('abort', over);
        if (ends.some(({ aborted }) => aborted)) reject(ended('the call', signal));
        else resolve();
      };
      const timer = setTimeout(over, Math.min(ms, MAX_TIMER_MS));
      for (const end of ends) end.addEventListener('abort', over, { once: true });
      if (ends.some(({ aborted }) => aborted)) over();
    });
  }

  /** One attempt at an answer that is read piece by piece. @param idleMs between two pieces. @throws DataServiceError */
  async *pieces(call: Call, idleMs = this.options.timeoutMs): AsyncGenerator<Uint8Array> {
    const pieces = new Pieces();
    const answer = this.#send(call, this.#headers(call), { pieces, idleMs });
    // It is waited for behind its pieces.
    answer.catch(() => undefined);
    yield* pieces;
    this.#checked(call, await answer);
  }

  /** The JSON object of an answer, with the API key masked. @throws DataServiceError `bad_body` */
  parse(call: Call, { status, headers, text }: CallAnswer, shape: ShapeName | null): Readonly<Record<string, unknown>> {
    const found = parseObject(this.options.redactor.data(text), shape);
    if (typeof found !== 'string') return found;
    throw this.bad(call, found, status, headers);
  }

  /** The error of an answer that is of no use, and may be better next time. */
  bad(call: Call, detail: string, status = 200, headers: ResponseHeaders = {}): DataServiceError {
    const requestId = requestIdOf(headers, this.options.redactor);
    return new DataServiceError(`${this.#shown(call)}: ${detail} (bad_body)`, { code: 'bad_body', status, retryable: true, requestId });
  }

  async #attempt<T>(call: Call, headers: string[], read: (answer: CallAnswer) => T): Promise<T> {
    const { timeoutMs } = call;
    return read(this.#checked(call, await this.#send(call, headers, timeoutMs === undefined ? {} : { timeoutMs })));
  }

  async #send(call: Call, headers: string[], options: SendOptions): Promise<Answer> {
    const { base, transport, redactor, timeoutMs } = this.options;
    const { method, path, json, content, signal } = call;
    const body = json === undefined ? (content ?? null) : JSON.stringify(json);
    const answer = await transport.send({ method, path: base.prefix + path, headers, body }, { timeoutMs, ...options, signal });
    if (answer.status > 0) this.lastResponse = lastResponseOf(answer.status, answer.meta.headers, redactor);
    return answer;
  }

  /** @throws DataServiceError for an answer without success, or without an end */
  #checked(call: Call, { status, text, failure, meta: { headers } }: Answer): CallAnswer {
    if (failure !== null) throw this.#failed(call, failure, status);
    if (status < 300 || status === call.also) return { status, headers, text };
    const { redactor } = this.options;
    throw answerError({ call: this.#shown(call), status, headers, text, requestId: requestIdOf(headers, redactor) }, redactor, Date.now());
  }

  /** They are the same in each attempt. */
  #headers({ method, json, idempotencyKey, headers: own }: Call): string[] {
    const { apiKey, platformHeaders, headers: given } = this.options;
    const key = apiKey();
    const all = [
      ...Object.entries(given),
      ...(key === null ? [] : [['authorization', `Bearer ${key}`]]),
      ['accept', 'application/json'],
      ...Object.entries(platformHeaders),
      ...(json === undefined ? [] : [['content-type', 'application/json']]),
      ...(method === 'POST' ? [['idempotency-key', idempotencyKey ?? crypto.randomUUID()]] : []),
      ...Object.entries(own ?? {}),
    ];
    // The last of a name counts.
    return [...new Map(all.map(([name = '', value = '']) => [name.toLowerCase(), value]))].flat();
  }

  /** @param status of an answer that broke off; 0 when none came */
  #failed(call: Call, { code, detail }: ExchangeFailure, status: number): DataServiceError {
    const shown = this.#shown(call);
    if (code === 'aborted') return ended(shown, call.signal);
    if (code === 'timeout') return new DataServiceError(`${shown}: no complete answer in time (timeout)`, { code, retryable: true });
    const words = this.options.redactor.words(detail);
    return new DataServiceError(`${shown}: ${words} (${code})`, { code, status: code === 'bad_body' ? status : 0, retryable: true });
  }

  /** Without the query. */
  #shown({ method, path }: Call): string {
    const { origin, prefix } = this.options.base;
    return `${method} ${origin}${prefix}${path.split('?', 1)[0]}`;
  }
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
