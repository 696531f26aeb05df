/**
 * The one way of requests and answers over HTTP: of the typed client, the library, the providers and the messages of a job. Bounds size and
 * time, masks keys, decodes bodies, reads quotas. No retry, no pacing, no redirect, and no opinion on what an answer means.
 */
import { readAnswer, type Answer, type Decompress, type QuotaReader } from './answer.ts';
import { Exchange, type ExchangeBounds, type ExchangeFailure, type WireController } from './exchange.ts';
import { InFlight } from './in-flight.ts';
import type { Pieces } from './pieces.ts';
import type { Redactor } from './redactor.ts';
import type { ResponseHeaders } from './types.ts';

export const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

/** A call as a whole may take this many times its time limit: a body that dribbles must not live for ever. */
const TOTAL_FACTOR = 2;
/** Beyond that, for a connection. */
const CONNECT_MS = 10_000;

export interface TransportRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With its query. */
  readonly path: string;
  /** Names and values in turn: undici reads a flat list faster than an object. */
  readonly headers: string[];
  /** Null for a request without a body. */
  readonly body: string | Uint8Array | null;
}

/** Is told what comes of a request. */
export interface WireHandler {
  onRequestStart(controller: WireController): void;
  onResponseStart(controller: WireController, status: number, headers: ResponseHeaders): void;
  onResponseData(controller: WireController, chunk: Uint8Array): void;
  onResponseEnd(): void;
  onResponseError(controller: WireController | null, error: Error): void;
}

/** HTTP as the platform has it: undici in Node, `fetch` elsewhere. */
export interface Wire {
  /** Sends a request. Throws for one that no header or address can carry. */
  dispatch(request: TransportRequest, handler: WireHandler): void;
  /** Why no connection came about, or broke. @param hasAnswered a server has answered before */
  explain(error: Error, hasAnswered: boolean): Promise<ExchangeFailure>;
  /** Absent where the platform decompresses by itself. */
  readonly decompress?: Decompress;
  /** Closes the sockets. */
  destroy(): Promise<void>;
}

interface TransportOptions {
  /** Until the answer begins, and between two pieces of it; a whole call takes at most twice as long. */
  readonly timeoutMs: number;
  /** A larger answer is unreadable. Default 16 MiB. */
  readonly maxResponseBytes?: number;
  readonly redactor: Redactor;
  /** Calls that are sent at once; further ones wait, which no time limit counts. Null or absent: no bound but that of the wire. */
  readonly places?: number | null;
}

export interface SendOptions {
  readonly signal?: AbortSignal | undefined;
  /** In place of the transport's. */
  readonly timeoutMs?: number;
  /** Takes the body of a success as it comes, in a connection beside the places. There is no limit for the whole answer. */
  readonly pieces?: Pieces;
  /** Between two pieces, milliseconds. */
  readonly idleMs?: number;
  /** Null or absent: the quota is not read. */
  readonly readQuota?: QuotaReader | null;
}

export class Transport {
  readonly #wire: Wire;
  readonly #options: TransportOptions;
  readonly #inFlight = new InFlight();
  readonly #end = new AbortController();
  /** Calls that wait for a place, in their order. */
  readonly #waiting: (() => void)[] = [];
  #free: number;
  #hasAnswered = false;
  #closing: Promise<void> | null = null;

  constructor(wire: Wire, options: TransportOptions) {
    this.#wire = wire;
    this.#options = options;
    this.#free = options.places ?? Infinity;
  }

  /** Fires when the transport is destroyed. */
  get ended(): AbortSignal {
    return this.#end.signal;
  }

  /** Rejects for a call that cannot be put on the wire (a programmer error); for nothing else. */
  send(request: TransportRequest, options: SendOptions = {}): Promise<Answer> {
    const { signal, pieces = null, timeoutMs = this.#options.timeoutMs, idleMs = timeoutMs, readQuota = null } = options;
    const { maxResponseBytes = MAX_RESPONSE_BYTES } = this.#options;
    const allMs = timeoutMs * TOTAL_FACTOR;
    return new Promise((resolve, reject) => {
      const bounds: ExchangeBounds = {
        maxBytes: maxResponseBytes,
        unsentMs: allMs + CONNECT_MS,
        firstMs: timeoutMs,
        nextMs: idleMs,
        totalMs: pieces === null ? allMs : Infinity,
      };
      let hasPlace = false;
      const settle = (ended: Exchange): void => {
        if (!hasPlace) resolve(this.#answerOf(ended, readQuota));
        else
          void turnOfLoop().then(() => {
            this.#free++;
            resolve(this.#answerOf(ended, readQuota));
            this.#admit();
          });
      };
      const exchange = new Exchange(this.#inFlight, bounds, pieces, settle, reject);
      pieces?.from(exchange);
      this.#inFlight.add(exchange, Math.min(timeoutMs, idleMs));
      if (this.#closing !== null || this.ended.aborted) exchange.fail({ code: 'aborted', detail: 'the client is closed' });
      if (signal !== undefined) exchange.watch(signal);
      if (exchange.settled) return;
      const go = (): void => {
        if (exchange.settled) return;
        hasPlace = pieces === null && this.#free !== Infinity;
        if (hasPlace) this.#free--;
        this.#dispatch(request, exchange);
      };
      if (pieces !== null || this.#free > 0) go();
      else this.#waiting.push(go);
    });
  }

  /** Waits for what is under way, then closes the sockets. */
  close(): Promise<void> {
    this.#closing ??= this.#inFlight.whenEmpty().then(() => this.destroy());
    return this.#closing;
  }

  /** Cancels what is under way. */
  async destroy(): Promise<void> {
    this.#end.abort();
    this.#inFlight.abortAll('cancelled: the client was destroyed');
    await this.#wire.destroy();
  }

  #admit(): void {
    while (this.#free > 0 && this.#waiting.length > 0) this.#waiting.shift()?.();
  }

  #dispatch(request: TransportRequest, exchange: Exchange): void {
    exchange.startedAt = performance.now();
    try {
      this.#wire.dispatch(request, exchange);
    } catch (error) {
      exchange.onResponseError(null, error as Error);
    }
  }

  /** A call whose connection failed is explained first. */
  #answerOf(exchange: Exchange, readQuota: QuotaReader | null): Answer | Promise<Answer> {
    const { redactor, maxResponseBytes = MAX_RESPONSE_BYTES } = this.#options;
    if (exchange.status > 0) this.#hasAnswered = true;
    const read = (): Answer | Promise<Answer> => readAnswer(exchange, redactor, readQuota, this.#wire.decompress, maxResponseBytes);
    const { networkError } = exchange;
    if (networkError === null) return read();
    return this.#wire.explain(networkError, this.#hasAnswered).then((failure) => {
      exchange.failure = failure;
      return read();
    });
  }
}

/** undici frees a connection one turn of the event loop after its answer: a call before that would open another. */
async function turnOfLoop(): Promise<void> {
  const { setImmediate: soon } = globalThis as { readonly setImmediate?: typeof setImmediate };
  if (soon !== undefined) await new Promise<void>((resolve) => void soon(resolve));
}
