/** Stands before the service, under a path of its own for each example, and keeps what each of them asked and was answered. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export interface Exchange {
  readonly example: string;
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** As it was sent. */
  readonly body: string;
  readonly status: number;
  readonly answer: string;
}

/** Headers that are about one connection, or about the address that is asked. */
const OWN = new Set([
  'host',
  'expect',
  'connection',
  'content-length',
  'transfer-encoding',
  'accept-encoding',
  'content-encoding',
  'keep-alive',
]);

export class Recorder {
  readonly exchanges: Exchange[] = [];
  readonly #service: string;
  readonly #server = createServer((request, response) => {
    this.#relay(request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
  });

  private constructor(service: string) {
    this.#service = service;
  }

  /** @param service its URL */
  static async start(service: string): Promise<Recorder> {
    const recorder = new Recorder(service);
    recorder.#server.listen(0, '127.0.0.1');
    await once(recorder.#server, 'listening');
    return recorder;
  }

  /** The base URL of an example. */
  urlOf(example: string): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/${example}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #relay(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '' } = request;
    const [, example = '', rest = ''] = /^\/(\w+)(.*)$/.exec(request.url ?? '') ?? [];
    const body = await buffer(request);
    const sent = Object.entries(request.headers).filter(([name]) => !OWN.has(name)) as [string, string][];
    const answer = await fetch(this.#service + rest, { method, headers: sent, ...(body.length === 0 ? {} : { body }), redirect: 'manual' });
    const text = await answer.text();
    const { pathname, searchParams } = new URL(rest, this.#service);
    const query = Object.fromEntries(searchParams);
    this.exchanges.push({ example, method, path: pathname, query, body: body.toString(), status: answer.status, answer: text });
    response.writeHead(
      answer.status,
      [...answer.headers].filter(([name]) => !OWN.has(name)),
    );
    response.end(text);
  }
}
