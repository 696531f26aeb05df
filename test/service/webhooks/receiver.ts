/** A receiver of deliveries: a real HTTP server on loopback, with answers that the test sets. It checks signatures by its own code. */
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'vitest';
import { cleanUp } from '../../support/clean-up.ts';

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: { readonly type: string; readonly timestamp: string; readonly data: Readonly<Record<string, unknown>> };
}

/** The answer to a delivery: a status, or a function that writes the response. */
export type Reaction = number | ((response: ServerResponse, received: Received) => void);

export class Receiver {
  readonly received: Received[] = [];
  readonly server: Server;
  /** The answers to the next deliveries, in order. Then follows `usual`. */
  reactions: Reaction[] = [];
  /** The answer to all other deliveries. */
  usual: Reaction = 200;
  readonly #waiting = new Set<() => void>();
  readonly #checkErrors: unknown[] = [];
  #check: (body: Received['body']) => void = () => undefined;

  constructor(make: (listener: RequestListener) => Server = (listener) => createServer(listener)) {
    this.server = make((request, response) => void this.#take(request, response));
  }

  /** Starts a receiver. @param check throws for a wrong body: the test then fails at its end */
  static async start(check: (body: Received['body']) => void = () => undefined): Promise<Receiver> {
    const receiver = new Receiver();
    receiver.#check = check;
    await receiver.listen();
    return receiver;
  }

  async listen(): Promise<void> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    cleanUp(async () => {
      await this.close();
      expect(this.#checkErrors).toEqual([]);
    });
  }

  async close(): Promise<void> {
    if (!this.server.listening) return;
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  url(path = '/hook'): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}${path}`;
  }

  /** Resolves with all deliveries once at least `wanted` have arrived. */
  async count(wanted: number): Promise<readonly Received[]> {
    while (this.received.length < wanted) await new Promise<void>((resolve) => void this.#waiting.add(resolve));
    return this.received;
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      // The sender was killed meanwhile.
      return;
    }
    const text = Buffer.concat(chunks).toString('utf8');
    const received = { path: request.url ?? '', headers: request.headers, text, body: JSON.parse(text) as Received['body'] };
    this.received.push(received);
    try {
      this.#check(received.body);
    } catch (error) {
      this.#checkErrors.push(error);
    }
    const reaction = this.reactions.shift() ?? this.usual;
    if (typeof reaction === 'number') response.writeHead(reaction).end();
    else reaction(response, received);
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

/** The secrets that signed a delivery. Fails when its headers are not those of Standard Webhooks. */
export function signedBy({ headers, text }: Received, secrets: readonly string[]): string[] {
  const [id, timestamp, signature] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => String(headers[name]));
  expect([id, timestamp]).toEqual([expect.stringMatching(/^msg_\S+$/), expect.stringMatching(/^\d{10}$/)]);
  const given = (signature ?? '').split(' ');
  for (const one of given) expect(one).toMatch(/^v1,[A-Za-z0-9+/]{43}=$/);
  return secrets.filter((secret) =>
    given.includes(
      `v1,${createHmac('sha256', Buffer.from(secret.replace('whsec_', ''), 'base64'))
        .update(`${id}.${timestamp}.${text}`)
        .digest('base64')}`,
    ),
  );
}
