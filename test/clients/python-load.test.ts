/** The Python library under load: many threads, many open streams, process pools. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { pythonTools } from '../../clients/conformance/python.ts';
import { available } from '../services/debian.ts';
import { cleanUp } from '../support/clean-up.ts';

const run = promisify(execFile);
/** Many times what a program takes: one that hangs is ended, and fails its test. */
const LONGEST_MS = 120_000;
const SIGNAL = { id: 'sg_1', type: 'funding' };
let bin = '';

beforeAll(async () => {
  const tools = await pythonTools(resolve('clients/python'));
  if (typeof tools !== 'string') bin = tools.bin;
  else available(false, 'the Python library', tools);
});

interface Served {
  readonly url: string;
  connections: number;
  openStreams: number;
}

/** Streams one signal and stays open, knows each company, and refuses all else as invalid. */
async function serve(): Promise<Served> {
  const served = { url: '', connections: 0, openStreams: 0 };
  const server = createServer((request, response) => {
    request.resume();
    if (request.url?.startsWith('/v1/signals') === true) {
      served.openStreams++;
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`id: 1\ndata: ${JSON.stringify(SIGNAL)}\n\n`);
    } else if (request.url?.startsWith('/v1/companies/') === true) {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"name":"Acme"}');
    } else {
      const problem = {
        code: 'validation_failed',
        status: 422,
        detail: 'no',
        retryable: false,
        errors: [{ pointer: '/email', code: 'why' }],
      };
      response.writeHead(422, { 'content-type': 'application/problem+json', 'x-request-id': 'req_1' }).end(JSON.stringify(problem));
    }
  });
  server.on('connection', () => served.connections++);
  server.listen(0, '127.0.0.1', 1_024);
  await once(server, 'listening');
  cleanUp(() => {
    server.closeAllConnections();
    server.close();
  });
  served.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return served;
}

async function printed(program: string, { url }: Served): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-python-'));
  cleanUp(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'program.py');
  await writeFile(file, program);
  const env = { ...process.env, MILLRACE_API_KEY: 'a-key', MILLRACE_BASE_URL: url };
  return (await run(join(bin, 'python'), ['-W', 'error', file], { env, timeout: LONGEST_MS })).stdout;
}

it('a call inside each of 100 open streams is answered', async ({ skip }) => {
  if (bin === '') skip();
  const served = await serve();
  const program = `
from contextlib import ExitStack
from millrace import Client

with Client(timeout=20, max_attempts=1) as client, ExitStack() as stack:
    names = []
    for i in range(100):
        stream = stack.enter_context(client.stream_signals())
        next(stream)
        names.append(client.company(f"{i}.example").name)
    print(len(names), set(names))
`;
  expect(await printed(program, served)).toBe("100 {'Acme'}\n");
  expect(served.openStreams).toBe(100);
});

it('a call inside each of 100 open streams of an asynchronous client is answered', async ({ skip }) => {
  if (bin === '') skip();
  const served = await serve();
  const program = `
import asyncio
from millrace import AsyncClient


async def main():
    opened = asyncio.Semaphore(0)
    async with AsyncClient(timeout=20, max_attempts=1) as client:
        everyone = asyncio.Event()

        async def one(i):
            async with client.stream_signals() as stream:
                await anext(stream)
                opened.release()
                await everyone.wait()
                return (await client.company(f"{i}.example")).name

        tasks = [asyncio.create_task(one(i)) for i in range(100)]
        for _ in tasks:
            await opened.acquire()
        everyone.set()
        names = await asyncio.gather(*tasks)
        print(len(names), set(names))


asyncio.run(main())
`;
  expect(await printed(program, served)).toBe("100 {'Acme'}\n");
  expect(served.openStreams).toBe(100);
});

it('a call that gets no connection of an httpx client of the caller ends by its time limit', async ({ skip }) => {
  if (bin === '') skip();
  const program = `
import httpx
from millrace import Client, errors

with httpx.Client(limits=httpx.Limits(max_connections=2)) as http:
    client = Client(http_client=http, timeout=0.2, max_attempts=1)
    with client.stream_signals() as one, client.stream_signals() as two:
        next(one), next(two)
        try:
            client.company("acme.example")
        except errors.CallError as error:
            print(error.code)
    print(client.company("acme.example").name)
`;
  expect(await printed(program, await serve())).toBe('timeout\nAcme\n');
});

it('1,000 calls of 100 threads use 100 connections again and again', async ({ skip }) => {
  if (bin === '') skip();
  const served = await serve();
  const program = `
from concurrent.futures import ThreadPoolExecutor
from millrace import Client

with Client() as client, ThreadPoolExecutor(100) as threads:
    names = list(threads.map(lambda i: client.company(f"{i}.example").name, range(1000)))
print(len(names), set(names))
`;
  expect(await printed(program, served)).toBe("1000 {'Acme'}\n");
  expect(served.connections).toBeLessThanOrEqual(128);
});

it('a process pool brings an error back with all its fields', async ({ skip }) => {
  if (bin === '') skip();
  const program = `
from concurrent.futures import ProcessPoolExecutor
from millrace import Client, errors


def lookup(base_url):
    with Client(base_url=base_url, max_attempts=1) as client:
        client.enrich(email="a@acme.example")


if __name__ == "__main__":
    with ProcessPoolExecutor(2) as pool:
        refused, unreachable = pool.submit(lookup, None), pool.submit(lookup, "http://127.0.0.1:9")
        try:
            refused.result()
        except errors.ValidationFailedError as error:
            print(error.code, error.status, error.request_id, error.errors[0]["pointer"], error.attempts, error.retryable)
        try:
            unreachable.result()
        except errors.CallError as error:
            print(error.code, error.retryable)
        print(pool.submit(str, "the pool still works").result())
`;
  expect(await printed(program, await serve())).toBe('validation_failed 422 req_1 /email 1 False\nnetwork True\nthe pool still works\n');
});

it('a call after close is the error aborted, in both clients', async ({ skip }) => {
  if (bin === '') skip();
  const program = `
import asyncio
from millrace import AsyncClient, Client, errors

client = Client()
client.close()
try:
    client.company("acme.example")
except errors.CallError as error:
    print(error.code)


async def main():
    client = AsyncClient()
    await client.close()
    try:
        await client.company("acme.example")
    except errors.CallError as error:
        print(error.code)


asyncio.run(main())
`;
  expect(await printed(program, await serve())).toBe('aborted\naborted\n');
});
