/** Who takes deliveries: a real HTTP server on the loopback interface that answers as it is told, and checks signatures by code of its own. */
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'vitest';
import { cleanUp } from '../../support/clean-up.ts';

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: { readonly type: string; readonly timestamp: string; readonly data: Readonly<Record<string, unknown>> };
}

/** How a delivery is answered: with a status, or by what is done with the response. */
export type Reaction = number | ((response: ServerResponse, received: Received) => void);

export class Receiver {
  readonly received: Received[] = [];
  readonly server: Server;
  /** Of the next deliveries in turn; then 200. */
  reactions: Reaction[] = [];
  /** Of all, in place of 200. */
  usual: Reaction = 200;
  readonly #waiting = new Set<() => void>();
  readonly #misfits: unknown[] = [];
  #check: (body: Received['body']) => void = () => undefined;

  constructor(make: (listener: RequestListener) => Server = (listener) => createServer(listener)) {
    this.server = make((request, response) => void this.#take(request, response));
  }

  /** @param check throws unless a body is as it should be */
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
      expect(this.#misfits).toEqual([]);
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

  /** Resolves with all that came once there are so many. */
  async count(wanted: number): Promise<readonly Received[]> {
    while (this.received.length < wanted) await new Promise<void>((resolve) => void this.#waiting.add(resolve));
    return this.received;
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    try {
      for await (const piece of request) pieces.push(piece as Buffer);
    } catch {
      // Whoever sent it has been killed meanwhile.
      return;
    }
    const text = Buffer.concat(pieces).toString('utf8');
    const received = { path: request.url ?? '', headers: request.headers, text, body: JSON.parse(text) as Received['body'] };
    this.received.push(received);
    try {
      this.#check(received.body);
    } catch (error) {
      this.#misfits.push(error);
    }
    const reaction = this.reactions.shift() ?? this.usual;
    if (typeof reaction === 'number') response.writeHead(reaction).end();
    else reaction(response, received);
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

/** Which of the secrets have signed a delivery; fails when its headers are not those of Standard Webhooks. */
export function signedBy({ headers, text }: Received, secrets: readonly string[]): string[] {
  const [id, timestamp, signature] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => String(headers[name]));
  expect([id, timestamp]).toEqual([expect.stringMatching(/^msg_\S+$/), expect.stringMatching(/^\d{10}$/)]);
  const given = (signature ?? '').split(' ');
  for (const one of given) expect(one).toMatch(/^v1,[A-Za-z0-9+/]{43}=$/);
  return secrets.filter((secret) => given.includes(`v1,${createHmac('sha256', Buffer.from(secret.replace('whsec_', ''), 'base64')).update(`${id}.${timestamp}.${text}`).digest('base64')}`));
}
