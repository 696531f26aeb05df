/** The platform's `fetch` as a wire. */
import type { BaseUrl } from '../base-url.ts';
import { messageOf } from '../connection-fault.ts';
import type { ExchangeFailure, WireController } from '../exchange.ts';
import type { TransportRequest, Wire, WireHandler } from '../transport.ts';
import { bytesOf } from './read-bytes.ts';

/** How calls are sent. */
export interface FetchSource {
  readonly fetch: typeof fetch;
  /** Added to the message of a call that found no connection. */
  readonly networkHint?: string;
  /** Ends connections that are the client's own. */
  readonly release?: () => Promise<void>;
}

export class FetchWire implements Wire {
  readonly #base: BaseUrl;
  readonly #source: FetchSource;

  constructor(base: BaseUrl, source: FetchSource) {
    this.#base = base;
    this.#source = source;
  }

  dispatch({ method, path, headers: list, body }: TransportRequest, handler: WireHandler): void {
    const headers = new Headers();
    for (let at = 0; at + 1 < list.length; at += 2) headers.set(list[at] ?? '', list[at + 1] ?? '');
    const way = new Way();
    handler.onRequestStart(way);
    const init = {
      method,
      headers,
      body: body as string | Uint8Array<ArrayBuffer> | null,
      signal: way.signal,
      redirect: 'manual',
    } as const;
    void this.#run(this.#base.origin + path, init, way, handler);
  }

  explain(error: Error): Promise<ExchangeFailure> {
    return Promise.resolve({ code: 'network', detail: messageOf(error) + (this.#source.networkHint ?? '') });
  }

  async destroy(): Promise<void> {
    await this.#source.release?.();
  }

  async #run(url: string, init: RequestInit, way: Way, handler: WireHandler): Promise<void> {
    const { fetch: fetchOf } = this.#source;
    try {
      const response = await fetchOf(url, init);
      // A browser shows nothing of a redirect.
      handler.onResponseStart(way, response.type === 'opaqueredirect' ? 302 : response.status, Object.fromEntries(response.headers));
      for await (const piece of bytesOf(response.body)) {
        handler.onResponseData(way, piece);
        await way.open;
      }
      handler.onResponseEnd();
    } catch (error) {
      handler.onResponseError(way, causeOf(error));
    }
  }
}

/** One request of `fetch`, and a gate for its body. */
class Way implements WireController {
  /** Resolves while the body may go on. */
  open: Promise<void> | null = null;
  readonly #end = new AbortController();
  #goOn: () => void = () => undefined;

  get signal(): AbortSignal {
    return this.#end.signal;
  }

  abort(reason: Error): void {
    this.#end.abort(reason);
    this.resume();
  }

  pause(): void {
    this.open ??= new Promise((resolve) => {
      this.#goOn = resolve;
    });
  }

  resume(): void {
    this.#goOn();
    this.open = null;
  }
}

/** `fetch` says only that it failed; its cause says why. */
function causeOf(error: unknown): Error {
  const outer = error instanceof Error ? error : new Error(String(error));
  const inner = outer.cause instanceof AggregateError ? (outer.cause.errors[0] as unknown) : outer.cause;
  return inner instanceof Error ? inner : outer;
}
