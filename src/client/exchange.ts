/**
 * One request and its answer on the wire: gathers the body, bounded in size and time, and settles exactly once. It knows HTTP but not the
 * service. It never rejects; what went wrong is in `failure`.
 */
import { messageOf, type ConnectionFault } from './connection-fault.ts';
import type { Pieces } from './pieces.ts';
import type { ResponseHeaders } from './types.ts';

/** Why no whole answer came. */
export interface ExchangeFailure {
  readonly code: 'timeout' | 'network' | 'aborted' | 'bad_body';
  readonly detail: string;
  /** With `network`: a fault that waiting does not mend; null or absent when it may pass. */
  readonly fault?: ConnectionFault | null;
  /** With `bad_body`: the answer came whole. */
  readonly unfit?: true;
}

/** A request under way on a wire. */
export interface WireController {
  abort(reason: Error): void;
  pause(): void;
  resume(): void;
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

/** Bounds of one exchange. Times are in milliseconds. */
export interface ExchangeBounds {
  readonly maxBytes: number;
  /** From being handed over to being sent. */
  readonly unsentMs: number;
  /** Until the answer begins. */
  readonly firstMs: number;
  /** Between two pieces of it. */
  readonly nextMs: number;
  /** From sending to the last byte. */
  readonly totalMs: number;
}

export class Exchange {
  /** 0 until headers came. */
  status = 0;
  headers: ResponseHeaders = NO_HEADERS;
  failure: ExchangeFailure | null = null;
  /** The error of a failed connection, from the wire or the system; null without one. */
  networkError: Error | null = null;
  /** Monotonic milliseconds: when it was handed over, then when it goes onto a socket. Infinity while it waits for a place. */
  startedAt = Infinity;
  sent = false;
  endedAt = 0;
  settled = false;

  readonly #owner: ExchangeOwner;
  readonly #bounds: ExchangeBounds;
  readonly #pieces: Pieces | null;
  readonly #resolve: (exchange: Exchange) => void;
  readonly #reject: (misuse: Error) => void;
  #signal: AbortSignal | null = null;
  #onAbort: (() => void) | null = null;
  #controller: WireController | null = null;
  #heardAt = 0;
  #isPaused = false;
  #first: Uint8Array | null = null;
  #rest: Uint8Array[] | null = null;
  #size = 0;

  /**
   * @param pieces take the body of a success as it comes; null gathers it
   * @param reject for a mistake of the caller alone: a call that no wire accepts, such as with a line break in a header
   */
  constructor(
    owner: ExchangeOwner,
    bounds: ExchangeBounds,
    pieces: Pieces | null,
    resolve: (exchange: Exchange) => void,
    reject: (misuse: Error) => void,
  ) {
    this.#owner = owner;
    this.#bounds = bounds;
    this.#pieces = pieces;
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
  takeBody(): Uint8Array | null {
    const body = this.#rest === null ? this.#first : joined(this.#rest, this.#size);
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

  /** Ends a call that takes too long. @param now monotonic milliseconds */
  failIfLate(now: number): void {
    const { unsentMs, firstMs, nextMs, totalMs } = this.#bounds;
    const late = (detail: string): void => this.fail({ code: 'timeout', detail });
    const tookMs = now - this.startedAt;
    if (!this.sent) {
      if (tookMs > unsentMs) late(`no free connection within ${unsentMs} ms`);
      return;
    }
    if (tookMs > totalMs) late(`the answer was not complete within ${totalMs} ms`);
    else if (this.#isPaused) return;
    else if (this.status === 0 && now - this.#heardAt > firstMs) late('no answer within the time allowed');
    else if (this.status !== 0 && now - this.#heardAt > nextMs) late('the answer stopped arriving');
  }

  /** Goes on with a body that waits for its reader. */
  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#heardAt = performance.now();
    this.#controller?.resume();
  }

  onRequestStart(controller: WireController): void {
    if (this.settled) {
      // Given up while it waited for a socket: it must not be sent any more.
      controller.abort(new Error('given up before it was sent'));
      return;
    }
    this.#controller = controller;
    this.sent = true;
    this.startedAt = performance.now();
    this.#heardAt = this.startedAt;
  }

  onResponseStart(_controller: WireController, status: number, headers: ResponseHeaders): void {
    if (this.settled) return;
    this.#heardAt = performance.now();
    // 1xx: the real answer follows.
    if (status < 200) return;
    this.status = status;
    this.headers = headers;
  }

  onResponseData(controller: WireController, chunk: Uint8Array): void {
    // undici reports an empty chunk when it goes on after a pause.
    if (this.settled || chunk.length === 0) return;
    this.#heardAt = performance.now();
    if (this.#pieces !== null && this.status < 300) {
      if (this.#pieces.add(chunk)) return;
      this.#isPaused = true;
      controller.pause();
      return;
    }
    const maxBytes = this.status < 300 ? this.#bounds.maxBytes : Math.min(this.#bounds.maxBytes, MAX_ERROR_BODY_BYTES);
    if (this.#size + chunk.length > maxBytes) {
      this.#tooMuch({ code: 'bad_body', detail: `the answer is larger than ${maxBytes} bytes` });
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

  /** @param controller null for a request that the wire did not accept as it is: nothing was sent */
  onResponseError(controller: WireController | null, error: Error): void {
    if (this.settled) return;
    const code = (error as { readonly code?: string }).code ?? '';
    if (controller === null && (code === 'UND_ERR_INVALID_ARG' || error instanceof TypeError)) this.#reject(error);
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
  #settle(): WireController | null {
    this.settled = true;
    this.endedAt = performance.now();
    const controller = this.#controller;
    // An exchange outlives a few collections; what it still pointed to would be kept along with it (20 % CPU a call).
    this.#controller = null;
    if (this.#onAbort !== null) this.#signal?.removeEventListener('abort', this.#onAbort);
    this.#owner.finished(this);
    this.#pieces?.end();
    this.#resolve(this);
    return controller;
  }
}

function joined(chunks: readonly Uint8Array[], size: number): Uint8Array {
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
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
