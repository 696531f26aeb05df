/**
 * One request and its answer on the wire: an undici handler that gathers the body, bounded, and settles exactly once.
 * It knows HTTP but not the service. It never rejects; what went wrong is in `failure`.
 */
import type { Dispatcher } from 'undici';
import { messageOf, type ConnectionFault } from './connection-fault.ts';
import type { ResponseHeaders } from './types.ts';

/** Why no whole answer came. */
export interface ExchangeFailure {
  readonly code: 'timeout' | 'network' | 'aborted' | 'bad_body';
  readonly detail: string;
  /** With `network`: a fault that waiting does not mend; null or absent when it may pass. */
  readonly fault?: ConnectionFault | null;
  /** With `bad_body`: the answer came whole, or would have. */
  readonly unfit?: true;
}

/** The most bytes of an error body that are read: more than any error needs. */
const MAX_ERROR_BODY_BYTES = 1024 * 1024;

const NO_HEADERS: ResponseHeaders = Object.freeze({});

/** Watches a call, and is told when it is over. */
export interface ExchangeOwner {
  /** Reserves memory for an answer. Returns false when all answers together have too much. */
  mayHold(bytes: number): boolean;
  finished(exchange: Exchange): void;
}

export class Exchange implements Dispatcher.DispatchHandler {
  /** 0 until headers came. */
  status = 0;
  headers: ResponseHeaders = NO_HEADERS;
  failure: ExchangeFailure | null = null;
  /** The error of a failed connection, from undici or the system; null without one. */
  networkError: Error | null = null;
  /** Monotonic milliseconds: when it was handed over, and from the moment it goes onto a socket, that. */
  startedAt = performance.now();
  sent = false;
  endedAt = 0;
  settled = false;

  readonly #owner: ExchangeOwner;
  readonly #resolve: (exchange: Exchange) => void;
  readonly #reject: (misuse: Error) => void;
  #signal: AbortSignal | null = null;
  #onAbort: (() => void) | null = null;
  #maxBytes: number;
  #controller: Dispatcher.DispatchController | null = null;
  #first: Buffer | null = null;
  #rest: Buffer[] | null = null;
  #size = 0;

  /** `reject` is for a mistake of the caller alone: a call that undici does not accept, such as with a line break in a header. */
  constructor(owner: ExchangeOwner, maxBytes: number, resolve: (exchange: Exchange) => void, reject: (misuse: Error) => void) {
    this.#owner = owner;
    this.#maxBytes = maxBytes;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** Ends with the signal, at once when it has fired already. */
  watch(signal: AbortSignal): void {
    const onAbort = (): void => this.fail({ code: 'aborted', detail: 'cancelled by the caller' });
    if (signal.aborted) {
      onAbort();
      return;
    }
    this.#signal = signal;
    this.#onAbort = onAbort;
    signal.addEventListener('abort', onAbort, { once: true });
  }

  /** Bytes of the body so far. */
  get size(): number {
    return this.#size;
  }

  /** The whole body as it came, once: it is let go of here. Most answers are one chunk, and are not copied. */
  takeBody(): Buffer | null {
    const body = this.#rest === null ? this.#first : Buffer.concat(this.#rest, this.#size);
    this.#drop();
    return body;
  }

  /** The headers, once, for the same reason as the body. */
  takeHeaders(): ResponseHeaders {
    const { headers } = this;
    this.headers = NO_HEADERS;
    return headers;
  }

  /** Ends the call from this side: settles now, and lets go of the socket. */
  fail(failure: ExchangeFailure): void {
    if (this.settled) return;
    this.failure = failure;
    this.#settle()?.abort(new Error(failure.detail));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.settled) {
      // Given up while it waited for a socket: it must not be sent any more.
      controller.abort(new Error('given up before it was sent'));
      return;
    }
    this.#controller = controller;
    this.sent = true;
    this.startedAt = performance.now();
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: ResponseHeaders): void {
    // 1xx: the real answer follows.
    if (status < 200 || this.settled) return;
    this.status = status;
    this.headers = headers;
    if (status >= 300) this.#maxBytes = Math.min(this.#maxBytes, MAX_ERROR_BODY_BYTES);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.settled) return;
    if (this.#size + chunk.length > this.#maxBytes) {
      this.#tooMuch({ code: 'bad_body', detail: `the answer is larger than ${this.#maxBytes} bytes`, unfit: true });
      return;
    }
    if (!this.#owner.mayHold(chunk.length)) {
      this.#tooMuch({ code: 'bad_body', detail: 'the answers under way are too large together' });
      return;
    }
    this.#size += chunk.length;
    if (this.#first === null) this.#first = chunk;
    else if (this.#rest === null) this.#rest = [this.#first, chunk];
    else this.#rest.push(chunk);
  }

  onResponseEnd(): void {
    if (!this.settled) this.#settle();
  }

  onResponseError(controller: Dispatcher.DispatchController | null, error: Error): void {
    if (this.settled) return;
    const code = (error as NodeJS.ErrnoException).code ?? '';
    // Without a controller nothing was sent yet: undici did not accept the call as it is.
    if (code === 'UND_ERR_INVALID_ARG' && controller === null) this.#reject(error);
    this.#drop();
    this.failure = describe(error, code, this.status);
    if (this.failure.code === 'network') this.networkError = error;
    this.#settle();
  }

  /** An error is judged by its status, and what came of its body will do; a success is of no use in parts. */
  #tooMuch(failure: ExchangeFailure): void {
    if (this.status < 300) {
      this.#drop();
      this.fail(failure);
      return;
    }
    this.#settle()?.abort(new Error(failure.detail));
  }

  #drop(): void {
    this.#first = null;
    this.#rest = null;
  }

  /** Returns the controller, with which the caller can abort the request. */
  #settle(): Dispatcher.DispatchController | null {
    this.settled = true;
    this.endedAt = performance.now();
    const controller = this.#controller;
    // An exchange outlives a few collections; what it still pointed to would be kept along with it (20 % CPU a call).
    this.#controller = null;
    if (this.#onAbort !== null) this.#signal?.removeEventListener('abort', this.#onAbort);
    this.#owner.finished(this);
    this.#resolve(this);
    return controller;
  }
}

function describe(error: Error, code: string, status: number): ExchangeFailure {
  switch (code) {
    case 'UND_ERR_CONNECT_TIMEOUT':
      return { code: 'timeout', detail: 'no connection within the time allowed' };
    case 'UND_ERR_HEADERS_TIMEOUT':
      return { code: 'timeout', detail: 'no answer within the time allowed' };
    case 'UND_ERR_BODY_TIMEOUT':
      return { code: 'timeout', detail: 'the answer stopped arriving' };
    case 'ETIMEDOUT':
      return { code: 'timeout', detail: messageOf(error) };
    case 'UND_ERR_DESTROYED':
    case 'UND_ERR_CLOSED':
      return { code: 'aborted', detail: 'the client is closed' };
    default:
      // Headers of a success came, its body did not: truncated.
      return status >= 200 && status < 300
        ? { code: 'bad_body', detail: `the answer broke off: ${messageOf(error)}` }
        : { code: 'network', detail: messageOf(error) };
  }
}
