/** Real servers on loopback, torn down after each test. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import type { AddressInfo, Server as TcpServer, Socket } from 'node:net';
import { DataServiceClient } from '../../src/client/data-service-client.ts';
import type { ClientOptions } from '../../src/client/data-service-client.ts';
import { cleanUp } from '../support/clean-up.ts';

export function urlOf(server: Server | TcpServer): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

type Listener = (request: IncomingMessage, response: ServerResponse) => Promise<void> | void;

/** Starts an HTTP server and returns its base URL. */
export async function serve(listener: Listener): Promise<string> {
  const server = createServer((request, response) => void listener(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanUp(() => {
    server.closeAllConnections();
    server.close();
  });
  return urlOf(server);
}

/** Starts a TCP server that gets the socket with the first bytes of a request. Returns its base URL. */
export async function serveRaw(onRequest: (socket: Socket, count: number, data: Buffer) => void): Promise<string> {
  const sockets = new Set<Socket>();
  let count = 0;
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', (data) => onRequest(socket, ++count, data));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanUp(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return urlOf(server);
}

export interface Canned {
  readonly status: number;
  readonly body?: string | Buffer;
  readonly headers?: Record<string, string | string[]>;
}

/** Gives the same answer to every request. The content type is JSON unless the headers name another. */
export function serveCanned(canned: Canned): Promise<string> {
  return serve((_request, response) => answer(response, canned));
}

export function answer(response: ServerResponse, { status, body, headers }: Canned): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(body);
}

export function makeClient(baseUrl: string, options: Partial<ClientOptions> = {}): DataServiceClient {
  const client = new DataServiceClient({ baseUrl, apiKey: 'test-key-0123456789', timeoutMs: 30_000, maxAttempts: 1, ...options });
  cleanUp(() => client.destroy());
  return client;
}

export async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

export const PERSON = {
  email: 'ana@acme.example',
  name: 'Ana Example',
  title: 'CTO',
  company: { name: 'Acme', employees: 12 },
  verified: true,
};
export const PERSON_TEXT = JSON.stringify(PERSON);
export const EMAIL_BODY = '{"email":"ana@acme.example"}';
