/** The two clients of Node under load: waits for a connection, answers of many calls at once, and signals. */
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import type * as Built from '../../clients/node/index.ts';
import { buildNodeClient } from '../../clients/node/build.ts';
import { DataServiceClient, type Client } from '../../src/index.ts';
import { cleanUp } from '../support/clean-up.ts';

let built: typeof Built;
beforeAll(async () => {
  built = (await import(pathToFileURL(await buildNodeClient()).href)) as typeof Built;
});

async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  server.listen(0, '127.0.0.1', 4_096);
  await once(server, 'listening');
  cleanUp(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

interface Options {
  readonly apiKey: string;
  readonly baseUrl: string;
  readonly maxAttempts: number;
  readonly timeoutMs?: number;
  readonly connections?: number;
}

const open: Readonly<Record<string, (options: Options) => Client>> = {
  millrace: (options) => new DataServiceClient(options),
  '@millrace/client': (options) => new built.Client(options),
};

describe.each(Object.entries(open))('the client of %s', (_, make) => {
  function clientOf(baseUrl: string, options: Pick<Options, 'timeoutMs' | 'connections'> = {}): Client {
    const client = make({ apiKey: 'a-key', baseUrl, maxAttempts: 1, ...options });
    cleanUp(() => client.destroy());
    return client;
  }

  it('the wait for a connection is no part of the time limit', async () => {
    let [underWay, most] = [0, 0];
    const url = await serve((request, response) => {
      request.resume();
      most = Math.max(most, ++underWay);
      void sleep(200).then(() => {
        underWay--;
        response.setHeader('content-type', 'application/json').end('{"name":"Acme"}');
      });
    });
    // One after the other, these calls take twice as long as each may take.
    const client = clientOf(url, { timeoutMs: 3_000, connections: 4 });
    const found = await Promise.all(Array.from({ length: 120 }, () => client.company('acme.example')));
    expect(found.filter((company) => company?.name === 'Acme')).toHaveLength(120);
    expect(most).toBeLessThanOrEqual(4);
  });

  it('an error has the request id of its own call, however many run at once', async () => {
    const url = await serve((request, response) => {
      request.resume();
      const id = `req_${request.url?.split('/').at(-1)}`;
      const problem = { code: 'forbidden', status: 403, detail: 'no', retryable: false };
      void sleep(Math.random() * 20).then(() => {
        response.writeHead(403, { 'content-type': 'application/problem+json', 'x-request-id': id }).end(JSON.stringify(problem));
      });
    });
    const client = clientOf(url);
    const ids = Array.from({ length: 200 }, (_one, i) => `${i}.example`);
    const failed = await Promise.all(
      ids.map(async (id) => await client.company(id).catch((error: unknown) => (error as { readonly requestId: string }).requestId)),
    );
    expect(failed).toEqual(ids.map((id) => `req_${id}`));
  });

  it('the deadline of AbortSignal.timeout is a timeout, and any other signal an abort', async () => {
    const url = await serve((request) => void request.resume());
    const client = clientOf(url);
    const codeOf = async (signal: AbortSignal): Promise<unknown> =>
      await client.company('acme.example', { signal }).catch((error: unknown) => (error as { readonly code: string }).code);
    expect(await codeOf(AbortSignal.timeout(50))).toBe('timeout');
    expect(await codeOf(AbortSignal.abort())).toBe('aborted');
  });
});
